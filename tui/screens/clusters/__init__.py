"""All clusters, their workers, and the loggers of a worker."""
