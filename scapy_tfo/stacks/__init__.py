"""Stacks that a target file describes: starts them, and speaks with their hooks."""
