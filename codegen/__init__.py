"""Turns `proto/` into `gen/`. Used by developers only; `nox -s generate` runs it."""
