"""Configuration definitions of plugins: keys, types, validators (ConfigDef)."""
