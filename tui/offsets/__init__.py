"""Changing offsets: what would change, the steps of a change, its notes on disk, moments in topics."""
