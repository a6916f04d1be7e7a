"""Mutants of the Throttr reference server and client."""
