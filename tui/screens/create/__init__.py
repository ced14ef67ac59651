"""Creating a connector: plugins, wizard, review."""
