"""The Connect REST API: one method for each endpoint, and the shapes of its responses. No transport."""
