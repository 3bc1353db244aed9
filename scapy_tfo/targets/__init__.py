"""Opens targets by name or address, for cases and for campaigns."""
