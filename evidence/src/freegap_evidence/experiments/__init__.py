"""The papers' experiments: every figure and table, computed again, drawn, and compared with what was printed.

data        the data sets: generated in the papers' shapes, or read from a path
simulate    vectorised twins of the mechanisms, for ten thousand runs per point; not private
detection … one module per family of experiments: what is computed, and how it compares
papers.toml what the papers say of each, and the numbers that they print
figures     how each table is drawn
run         compute or take from the cache, draw, write
report      one page, and one Markdown document, of what was written
"""
