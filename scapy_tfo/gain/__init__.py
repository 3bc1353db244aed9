"""Measures what fast open gains: the paper's experiments on real stacks, over emulated links."""
