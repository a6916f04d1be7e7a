"""Every client against every server, with a passive proxy between them that says who broke the protocol first."""
