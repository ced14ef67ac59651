"""Derived from reports and offsets: metrics, progress, stalls, expiry, health, lag."""
