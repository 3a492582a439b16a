"""Generated mutants: what `make mutants-generated` runs, and what writes docs/mutants.md."""
