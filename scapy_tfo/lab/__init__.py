"""Targets of our own: namespaces with the running kernel, and the reference stack."""
