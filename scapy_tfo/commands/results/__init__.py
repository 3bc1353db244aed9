"""Commands that read the results of runs."""
