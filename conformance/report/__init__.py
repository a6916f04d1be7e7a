"""What is made of records: console, files, baseline, clause coverage, rendered pages."""
