"""Clients and servers that the experiments run in namespaces."""
