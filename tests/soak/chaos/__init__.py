"""Chaos: three brokers, three workers, connectors that change, and faults of every kind, judged by a checker that only
reads topics and files."""
