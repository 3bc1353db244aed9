"""Clients that are legal and differ from the reference, each by the freedoms that it uses."""
