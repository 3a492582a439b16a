"""What runs in a peer's interpreter: only the standard library is imported at the top of a module here."""
