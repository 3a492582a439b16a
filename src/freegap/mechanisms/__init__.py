"""The mechanisms, one module per family. Each names its theorem and charges what the theorem says."""
