"""Transports: how requests reach a cluster, blocking for scripts and on the event loop for the screen."""
