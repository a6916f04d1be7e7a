"""Reads what crossed a connection independently of the player, and says who broke the protocol first."""
