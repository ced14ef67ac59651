"""The worker's log: its line formats, and the last lines of each connector."""
