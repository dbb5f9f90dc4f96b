"""Thousands of flights on a Dask cluster: resumable, with output identical to that of a single machine."""
