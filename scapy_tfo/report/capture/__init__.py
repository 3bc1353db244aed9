"""Reports on a capture."""
