"""The dead letters of a sink: browsing, export, replay. Reading and decoding them is in `tui.dead_letters`."""
