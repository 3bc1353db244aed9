"""Clients that are wrong on purpose, each in exactly one named way."""
