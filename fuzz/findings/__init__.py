"""Findings: identified, reduced, replayed, stored one directory each, reported."""
