"""Worker and connector configuration files: properties, variables and their providers, listeners, key stores."""
