"""Runs parts of a campaign or of an exploration as tasks of an existing Dask scheduler."""
