"""Searches for bugs that no case covers, in this project and in any server, and turns findings into cases."""
