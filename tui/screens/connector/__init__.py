"""A connector's page and its tabs."""
