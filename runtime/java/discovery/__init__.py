"""Finds Java plugins in `plugin.path` by reading jars and class files, without a JVM."""
