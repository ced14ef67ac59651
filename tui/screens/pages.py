"""The pages of a connector, in the order of their keys."""

PAGES = ("overview", "tasks", "config", "trace", "offsets")
