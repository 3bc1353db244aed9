"""Runs a campaign: sends programs, confirms the violations found, and reduces their programs."""
