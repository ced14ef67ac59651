"""How requests reach a cluster: one blocking transport for scripts, one on the event loop for the screen."""
