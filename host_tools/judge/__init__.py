"""Whether runs are right, fast, and no worse than before. Reads run folders, starts nothing."""
