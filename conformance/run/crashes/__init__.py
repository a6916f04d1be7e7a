"""A server that wireproof started and that dies: the end is traced to its case, and the run goes on."""
