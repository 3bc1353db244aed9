"""A kernel target with a lean echo for many connections a second."""
