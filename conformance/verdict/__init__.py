"""From an outcome to a record: confirmation, blame, consequences, levels."""
