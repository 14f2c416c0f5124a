"""How moments are written, by language."""
