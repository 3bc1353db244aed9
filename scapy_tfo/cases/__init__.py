"""The cases, one file for each section of the standard."""
