"""The Connect REST API over the herder."""
