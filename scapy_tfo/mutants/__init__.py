"""Stacks that are wrong on purpose, each in exactly one named way: proof that cases can fail."""
