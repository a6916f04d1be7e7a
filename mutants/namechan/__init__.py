"""Mutants of namechan."""
