"""Looks for what no case holds yet, on our own code and on anybody's server, and keeps what it finds as cases."""
