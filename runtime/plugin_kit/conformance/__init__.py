"""The conformance suite: cases, and the checks that run in this process. The module suite puts them together."""
