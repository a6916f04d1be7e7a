"""Promotion: turns a finding into a case, a frame, or an input that campaigns replay first."""
