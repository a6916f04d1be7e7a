"""Conformance tests and fuzzing for binary messaging protocols: the one import name of an installation.

In a checkout the packages of this one are links to the folders at the top of the repository; a wheel holds them here.
"""
