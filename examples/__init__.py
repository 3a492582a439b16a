"""Executable documentation: attacks that naive implementations fall to, and a worked example."""
