"""Campaigns as boofuzz sessions."""
