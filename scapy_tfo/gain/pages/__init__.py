"""Loads whole web pages with and without fast open."""
