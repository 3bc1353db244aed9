"""Middleboxes that break fast open, each in its own way: packets and time in, packets out."""
