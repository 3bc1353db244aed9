"""Findings of campaigns: the record, the store, exports, known findings."""
