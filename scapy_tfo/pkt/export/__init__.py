"""Turns captured connections into scripts."""
