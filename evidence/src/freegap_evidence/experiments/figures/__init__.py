"""How the tables of the experiments are drawn: one function a figure, from a table to a matplotlib figure."""
