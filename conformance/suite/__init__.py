"""A suite as data: clauses, cases, sequences, symbols, patterns, segmentations. Plays nothing."""
