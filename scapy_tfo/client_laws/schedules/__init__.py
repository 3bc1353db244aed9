"""Schedules of a client: whole conversations with a real server, whose packets meet faults."""
