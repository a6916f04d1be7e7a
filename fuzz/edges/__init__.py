"""Coverage of live targets: a shared file of counters, one for each edge, that the target counts up."""
