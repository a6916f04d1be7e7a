"""Folds any number of runs into compatibility matrices.

Reads only the records of `reports/schema/record.schema.json`; imports nothing else of the project. Run it as
`python -m wireproof.spark.job RUNS --out DIR`.
"""
