"""Exact sampling: integer samplers, random reals with lazily drawn digits, and their ranking.

Nothing here rounds a random quantity. Floating point appears only in `ranking`, as a filter with a
proven error bound; where the bound does not decide, digits are drawn until the answer is decided.
"""
