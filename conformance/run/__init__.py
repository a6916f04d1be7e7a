"""Plays many cases against one target: selection, scheduling, supervision, crash attribution."""
