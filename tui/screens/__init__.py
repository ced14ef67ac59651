"""What fills the terminal: the main screen and those laid over it."""
