"""What only this project's developers and tests run: tests, lint, fuzzers, the sanitizers' builds, the site of the pages."""
