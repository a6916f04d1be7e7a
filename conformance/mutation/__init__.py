"""The suite proves itself: every known fault against every case, and no legal server failed."""
