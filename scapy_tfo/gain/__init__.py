"""What fast open gains: the paper's experiments on real stacks, over links of our own."""
