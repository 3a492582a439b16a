"""Vectorised twins of the mechanisms: many runs at once, in floating point. For experiments only, NOT
PRIVATE.

Each twin is a function of the noise, as the programs in `freegap.mechanisms` are, and a test compares the two
on the same noise. Only the noise itself is drawn another way (NumPy's generators instead of exact samplers);
the experiment `exact-accuracy` shows that the figures do not depend on that.
"""
