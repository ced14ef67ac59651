"""The commands, one class per verb: keys, palette, `:` commands, help, script lines and completion all use it."""
