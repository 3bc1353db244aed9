"""Ways to send and receive raw packets, one file for each kind of link."""
