"""Judges silences by likelihood, and paces a run to what its target bears: no input, no output."""
