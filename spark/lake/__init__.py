"""The lake: everybody's runs as Parquet under any Hadoop URI, with aggregates that follow each new run.

docs/spark-lake.md describes the tables. Nothing in a lake is visible before a marker names it; markers are
numbered, and each number is written once.
"""
