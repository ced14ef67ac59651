"""The predicates bundled with Connect."""
