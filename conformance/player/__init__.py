"""Plays one case, sans-IO: a generator of actions that is sent their answers."""
