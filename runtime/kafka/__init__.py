"""Kafka clients: configurations, topics, groups, membership."""
