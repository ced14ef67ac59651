"""The predicates that Connect brings with it."""
