"""What was found: told apart, shrunk, re-run, stored as one directory, replayed, promoted to a case."""
