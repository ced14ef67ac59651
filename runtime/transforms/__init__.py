"""The transformations bundled with Connect."""
