"""Fencing of the earlier tasks of exactly-once sources, before new ones start or their offsets change (KIP-618)."""
