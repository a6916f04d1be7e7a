"""Servers and clients modified deliberately in one known way; nothing correct imports this package."""
