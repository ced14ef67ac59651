"""The dead letters of a sink."""
