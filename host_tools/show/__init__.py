"""Shows runs and judgements to people and programs: pages, charts, tables, traces. Starts nothing."""
