"""`headrace doctor`: what this machine has, what is missing, and what to do about it. Needs nothing but Python."""
