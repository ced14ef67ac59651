"""Java itself, and jars by Maven coordinates: what the embedded broker and Java plugins both need."""
