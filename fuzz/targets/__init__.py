"""Entry points of coverage-guided fuzzing, each runnable alone with the options of libFuzzer."""
