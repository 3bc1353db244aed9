"""Runs scripts against a target that runs nothing of ours."""
