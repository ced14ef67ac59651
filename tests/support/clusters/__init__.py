"""Whole workers and groups of them as processes, and clients of their REST API."""
