"""Findings of campaigns: the record, the store, known findings."""
