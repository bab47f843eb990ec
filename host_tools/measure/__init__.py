"""Measurements of many models: benches, and suites that are compared with a baseline, on devices side by side."""
