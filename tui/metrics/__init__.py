"""Rates over time, lag and failure counts, computed from what a cluster answers. No widgets."""
