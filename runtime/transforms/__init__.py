"""The transformations that Connect brings with it."""
