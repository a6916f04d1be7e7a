"""Entry points of coverage-guided fuzzing; each runs alone with the options of libFuzzer."""
