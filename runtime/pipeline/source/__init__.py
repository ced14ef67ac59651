"""Source tasks: poll, convert, produce, acknowledge, commit offsets."""
