"""Where a run happens: each place takes a RunSpec and leaves the same run folder."""
