"""Plays cases against SDKs: wireproof is the server, and asks the SDK for operations through its driver."""
