"""Changes of offsets: their plan, steps and records on disk, their history, and positions in topics."""
