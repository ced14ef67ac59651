"""Producers that tasks of a slot share, and the topics created for their records."""
