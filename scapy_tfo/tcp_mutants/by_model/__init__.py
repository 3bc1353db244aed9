"""Servers that break rules of TCP which no rule of traffic judges, but the model or a case."""
