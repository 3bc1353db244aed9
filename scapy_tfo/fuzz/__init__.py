"""Campaigns: programs made of seeds, sent at a stack, and judged by what the standard allows."""
