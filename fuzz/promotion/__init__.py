"""Findings that come back: as cases, where a case can say it, else as inputs that a campaign replays first."""
