"""Benchmarks: speed as a ratio, in one run, against a peer or a baseline."""
