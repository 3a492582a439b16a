"""Machine checks of randomness alignments."""
