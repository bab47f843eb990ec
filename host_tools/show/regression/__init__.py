"""What a regression run shows: tables, a page, and files for other programs."""
