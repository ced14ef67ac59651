"""Runs sample records through a chain without writing, putting or committing anything."""
