"""Private selection from tables: pandas, Polars, PyArrow, DuckDB, Spark, Ibis, and files."""
