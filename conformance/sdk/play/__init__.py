"""Plays cases against SDKs: wireproof is the server, and tells the SDK what to do through its driver."""
