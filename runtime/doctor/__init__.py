"""`headrace doctor`: checks what this machine lacks for Headrace, and prints remedies. Imports the standard library and
light modules of ours only."""
