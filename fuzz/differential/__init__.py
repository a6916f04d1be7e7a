"""Sends the same bytes to two or more servers and compares the meaning of their answers."""
