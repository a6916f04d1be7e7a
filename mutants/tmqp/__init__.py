"""Mutants of the TMQP server."""
