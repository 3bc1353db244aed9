"""Sends packets to a live target and receives them: links, port guard, neighbours, routes."""
