"""The console in tests: without a terminal, in a real terminal, as a script, and its transports."""
