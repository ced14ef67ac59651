"""`headrace migrate`: what a move from Apache's workers to Headrace takes, and the move itself, step by step."""
