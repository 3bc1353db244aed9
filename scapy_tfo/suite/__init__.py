"""Building blocks of cases: their registry, the peer that a case talks to, its flows, results."""
