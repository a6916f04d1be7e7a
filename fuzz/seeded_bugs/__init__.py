"""Bugs seeded in our own code and in servers, to prove that each engine finds what it is made for."""
