"""Coverage-guided fuzzing: `make fuzz`."""
