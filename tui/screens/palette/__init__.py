"""The palette (^P): everything that can be opened or done, found by name or by meaning."""
