"""How Java reads and writes dates, regular expressions and JSON numbers. Internal: not part of the plugin API."""
