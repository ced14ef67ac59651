"""Verbs sent to connectors, for one or many, and the log of operations. The record of each is in `services`."""
