"""Fuzzes servers over the wire: mutated valid conversations, judged by oracles that need no expectations."""
