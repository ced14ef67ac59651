"""Small widgets, which draw the model and do not access the network."""
