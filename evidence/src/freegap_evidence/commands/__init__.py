"""The commands that show freegap's evidence: `assure`, `bench` and `experiment`; `freegap.cli` lists them."""
