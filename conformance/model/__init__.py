"""Words that every room uses: verdicts, outcomes, traces, actions, targets, expressions."""
