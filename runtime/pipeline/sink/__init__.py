"""Sink tasks: consume, convert, put, commit, and dead letters."""
