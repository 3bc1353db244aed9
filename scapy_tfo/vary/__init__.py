"""Runs each case in many contexts, which together hold every pair of values."""
