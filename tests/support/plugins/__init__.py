"""Plugins that tests put on a worker's `plugin.path`."""
