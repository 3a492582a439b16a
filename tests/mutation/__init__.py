"""Privacy-relevant lines, broken by hand one at a time; the ordinary tests must notice each."""
