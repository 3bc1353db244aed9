"""Packets to and from a live target: raw sockets, port guard, neighbours, capture."""
