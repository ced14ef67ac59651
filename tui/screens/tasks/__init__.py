"""Tasks: those of one connector, and the failed ones of all."""
