"""The mechanisms, one module a family. Each names its theorem and charges what the theorem says."""
