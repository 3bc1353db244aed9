"""What lies on paths and breaks fast open, one box at a time: packets and time in, packets out."""
