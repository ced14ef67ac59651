"""Themes of the console, one TOML file each; data only."""
