"""The pages of a lake: static files that a browser opens without a network, each with the data that it shows."""
