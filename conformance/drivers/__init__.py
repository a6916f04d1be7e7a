"""Perform the player's actions: over sockets, in simulation, or from a recorded trace."""
