"""What every part stands on: errors, settings, the only starter of processes, progress, the console."""
