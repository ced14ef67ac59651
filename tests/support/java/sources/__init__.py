"""Java sources for tests, compiled with PySpark's Janino, so that a JRE is enough."""
