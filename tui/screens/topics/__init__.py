"""The browser of topics and records. Reading and decoding them is in `tui.topics`."""
