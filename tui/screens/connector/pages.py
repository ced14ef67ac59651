"""The pages of a connector, in the order of their keys."""

PAGES = ("overview", "tasks", "config", "trace", "offsets", "topics", "log", "events", "metrics")
SHORT = {"overview": "view", "metrics": "rate"}  # where room is short
