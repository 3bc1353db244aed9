"""Findings as JSON, captures, packetdrill scripts and pytest tests."""
