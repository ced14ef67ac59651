"""The plugin host: connector instances in a process of their own."""
