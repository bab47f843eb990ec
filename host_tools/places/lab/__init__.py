"""A lab: devices on several hosts, reached through a scheduler of dask.distributed."""
