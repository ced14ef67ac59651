"""What converters with a schema registry have in common: its client, options, subjects, wire formats, caches."""
