"""Emulated links: delay, loss and other impairments, and middleboxes on the path."""
