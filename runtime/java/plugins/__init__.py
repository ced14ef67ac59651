"""Java plugins as objects of `runtime.api`."""
