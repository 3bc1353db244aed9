"""Keeps measurements sound: processors awake, pairs in random order, controls that must hold."""
