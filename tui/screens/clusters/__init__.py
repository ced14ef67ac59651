"""Screens about clusters and workers, not about one connector: all clusters, workers, loggers."""
