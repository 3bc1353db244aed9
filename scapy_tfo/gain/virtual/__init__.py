"""Repeats the experiments on virtual time: the reference's two ends over the link's model."""
