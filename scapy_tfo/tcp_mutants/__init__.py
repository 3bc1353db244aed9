"""Servers that break one rule of plain TCP each: proof that the oracle can tell."""
