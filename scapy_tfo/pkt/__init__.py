"""The packetdrill language: grammar, tree, printing."""
