"""Plugins for workers of tests."""

from pathlib import Path

PLUGINS = str(Path(__file__).parent)
"""The `plugin.path` of workers that use them."""
