"""The regime matrix: each fast path against the paper's program on exact reals, bit for bit, where users go.

A fast path is a second mechanism. It is right only where it was compared with the first: in groups of 10^12
equal items, at the edges of int64, on grids of 10^-60. A matrix has dimensions (`cells`), such as the shape
of the input or the scale of the noise, each with levels. Every level is visited, and every pair of levels of
two dimensions that can go together; each visit is a case with numbers of its own (`numbers`), released by
the public function on seeded bits and worked out by the program (`reference`) on the same bits.
"""
