"""Tasks of `./inv`, from arguments to one call, what they print, and their exit status; and the command line (`command_line`).

tasks.py says which function a task calls. Those of developers alone are in `host_tools/dev/`; the others are in a file with
the task's name, or its plural, or in the folder that does what the task is for: run, measure, debug, parity, build.
"""
