"""Java plugins for tests, and the JVMs and slots that run them."""
