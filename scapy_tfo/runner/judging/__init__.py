"""Turns how the attempts of a case ended into a verdict, and verdicts into causes."""
