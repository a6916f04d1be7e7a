"""The subcommands of `wireproof`, one module each, each with a click command called `command`."""
