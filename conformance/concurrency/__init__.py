"""Many connections at once: histories, whether one order explains all their answers, what to show when none does."""
