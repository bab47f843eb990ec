"""Drivers and compilers that this machine can run, as rows of one table: `driver_table` lists them."""
