"""The demo pipeline of the embedded cluster."""
