"""The product: cases, player, drivers, verdicts, records. Names no protocol."""
