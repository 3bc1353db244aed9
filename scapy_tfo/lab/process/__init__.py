"""Processes of our own in namespaces, and the channels to them."""
