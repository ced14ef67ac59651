"""Slots on Spark and the channel between them and the worker."""
