"""FilesSink writes records to files, each of them exactly once."""
