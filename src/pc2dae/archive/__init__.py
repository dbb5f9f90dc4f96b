"""Thousands of flights on a Dask cluster: resumable, and the same bytes as on one machine; data only."""
