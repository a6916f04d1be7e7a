"""Every client against every server, with a passive tap between them that says who broke the protocol first."""
