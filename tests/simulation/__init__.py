"""A deterministic simulation of several workers: see docs/architecture/simulation.md."""
