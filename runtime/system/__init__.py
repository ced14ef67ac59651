"""What the operating system reports about processes: descent, peers, scheduling delay, memory."""
