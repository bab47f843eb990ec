"""Runs a suite of models again and again, keeps every sample, and says what got worse. See docs/regress.md.

In the order of their use: `suite` (what to run), `session` (runs it on every device), `launch` (what one process left),
`history` (keeps it), `metrics` and `statistic` (numbers), `exact` and `judge` (verdicts), `table`, `page`, `plots`,
`exports` (what is shown and written), `task` (all of it).
"""
