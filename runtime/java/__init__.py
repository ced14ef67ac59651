"""Java: its program, jars by Maven coordinates, and plugins in `plugin.path`."""
