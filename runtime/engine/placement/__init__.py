"""Which slot runs which task, and how many tasks a slot starts at once. Pure bookkeeping in the worker."""
