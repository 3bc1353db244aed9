"""Targets that run on this machine's kernel, in namespaces of their own."""
