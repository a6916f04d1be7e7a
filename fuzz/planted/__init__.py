"""Faults that nobody chose, planted one at a time in a copy of this project, and the engines that look for them."""
