"""Judges what the target sends."""
