"""Runs of models as `inv run`, `support` and `generate` make them, at places, judged; and what `--driver` and `--same` mean."""
