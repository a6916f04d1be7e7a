"""What must hold for every input, as plain functions; engines only choose inputs."""
