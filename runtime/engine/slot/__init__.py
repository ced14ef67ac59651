"""The slot process, which runs each of its tasks in a thread."""
