"""The slot process, in which tasks run, a thread each."""
