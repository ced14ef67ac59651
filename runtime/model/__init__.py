"""Plain data that all parts of the worker share: states, task ids, task specifications. No behaviour."""
