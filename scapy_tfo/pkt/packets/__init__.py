"""Packets of scripts: how they are described, sent and matched."""
