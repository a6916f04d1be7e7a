"""Folds any number of runs into compatibility matrices.

Reads the records of `reports/schema/record.schema.json` and nothing else of the project. Run it as
`python -m wireproof.spark.job RUNS --out DIR`.
"""
