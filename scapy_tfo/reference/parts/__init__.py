"""Parts of the reference that stand by themselves, each of one mechanism."""
