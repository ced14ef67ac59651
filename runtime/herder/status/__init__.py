"""What connectors and tasks report, kept in memory and in the status topic: states, events, errors, counts."""
