"""`headrace plugin run`: a plugin with its records on the screen, in this process or on the embedded cluster."""
