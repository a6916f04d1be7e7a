"""Mutants of the PSRT reference server and client."""
