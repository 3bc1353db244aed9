"""packetdrill scripts: their language, checks, runs, and export from captures."""
