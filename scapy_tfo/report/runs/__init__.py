"""Reads runs that were written as JSON, and compares them."""
