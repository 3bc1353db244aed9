"""Stacks that are legal and differ from the reference: proof that only what is wrong is blamed."""
