"""Tasks of `./inv` that need several folders, from arguments to exit status, their parts, and the command line
(`command_line`).

tasks.py says which function a task calls. That of `run` is in judged_runs.py, those of `test`, `clean` and `lock` are in
repository.py; the others are in a file with the task's name, or its plural. All other files are parts of tasks: `lanes` and
`deal` of suites and benches, for example.
"""
