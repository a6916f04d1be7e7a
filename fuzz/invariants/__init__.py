"""What must hold whatever comes in, as plain functions: every engine calls these and knows nothing else."""
