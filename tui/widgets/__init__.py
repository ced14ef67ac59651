"""What is drawn: small widgets that know the model, and nothing of the network."""
