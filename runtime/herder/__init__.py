"""The control plane: what should run, what runs, and the steps between."""
