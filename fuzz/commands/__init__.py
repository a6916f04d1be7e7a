"""The subcommands of `wireproof fuzz`."""
