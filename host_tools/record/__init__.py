"""What is kept of a run, and how it is read: the RunSpec, the run folder and each of its files."""
