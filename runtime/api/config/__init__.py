"""Definitions of configuration keys: types, validators, documentation (Java: ConfigDef)."""
