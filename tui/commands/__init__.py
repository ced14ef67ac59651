"""One class per verb. The key, the palette entry, the `:` command, the help and the script line all come from it."""
