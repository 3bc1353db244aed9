"""Runs cases against a target, live or in simulation, and decides their verdicts."""
