"""Generates the programs of a campaign."""
