"""Engines on real Spark, on this machine and on clusters, with the reports that they make."""
