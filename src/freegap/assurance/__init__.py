"""The library checks itself: proof, exact distribution and audit of every mechanism that it releases with."""
