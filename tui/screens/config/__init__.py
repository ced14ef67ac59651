"""The config page: keys with documentation, and the editor."""
