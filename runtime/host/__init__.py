"""The plugin host, a process for connector instances and other plugin code, and its client in the worker."""
