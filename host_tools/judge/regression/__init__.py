"""What got worse between two sessions of a suite of models. See docs/regress.md.

In the order of their use: `suite` (what to run), `launch` (what one process left), `history` (keeps it), `metrics` and
`statistic` (numbers), `exact` and `cell_verdicts` (verdicts), `session` (all of them). tasks/regress_session.py runs it.
"""
