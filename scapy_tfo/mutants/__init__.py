"""Stacks wrong on purpose, each in exactly one named way: the proof that the cases can fail."""
