"""Where a run happens. Every place takes a RunSpec and leaves a run folder."""
