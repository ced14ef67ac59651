"""Rates over time, lag and failure counts, computed from what a cluster responds. No widgets."""
