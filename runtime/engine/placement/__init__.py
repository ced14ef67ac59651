"""Placement of tasks on slots, and the limit of simultaneous starts. Bookkeeping in the worker, without I/O."""
