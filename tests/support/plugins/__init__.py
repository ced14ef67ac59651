"""Plugins for workers of tests; `plugin.path` names this folder."""
