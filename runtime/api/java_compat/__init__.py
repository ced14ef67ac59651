"""Java's dates, regular expressions and JSON formatting. Internal: not part of the plugin API."""
