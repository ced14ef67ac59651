"""Connector configurations: checks, variables, client override policy, and the task specifications built from them."""
