"""Plans before anything is spent: what a budget buys, from public assumptions alone; no data is looked at."""
