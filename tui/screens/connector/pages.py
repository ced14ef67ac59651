"""The tabs of a connector's page, in the order of their keys."""

PAGES = ("overview", "tasks", "config", "trace", "offsets", "topics", "log", "events", "metrics")
