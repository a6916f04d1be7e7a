"""Fuzzes servers over the wire: valid conversations damaged by mutators, judged by oracles without expectations."""
