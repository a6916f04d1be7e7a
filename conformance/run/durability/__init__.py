"""Durability: a server is killed under load and started again; what it replays is compared with what was promised."""
