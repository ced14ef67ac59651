"""Automatic restarts of failed connectors and tasks: policy, budget and history."""
