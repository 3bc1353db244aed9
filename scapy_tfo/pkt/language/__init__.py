"""The packetdrill language: grammar, syntax tree, printer."""
