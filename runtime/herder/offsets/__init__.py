"""Offsets of connectors: reading, altering, resetting, seeking by time, and offsets without a connector (KIP-875)."""
