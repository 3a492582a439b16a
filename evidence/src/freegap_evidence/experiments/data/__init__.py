"""The data sets of the experiments: generated in the papers' shapes, or read from a path."""
