"""One file per task of `./inv`, and the command line that they come from."""
