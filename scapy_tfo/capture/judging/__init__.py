"""Holds the rules of plain TCP against captures of strangers."""
