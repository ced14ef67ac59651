"""A task's transformations and predicates, compiled once and run over batches."""
