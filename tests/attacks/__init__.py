"""Attacks on a worker and its console: each test says who attacks, what and how.

Files are named after the attacker (test_reader_….py, test_administrator_….py, test_neighbour_….py), tests after the
attack that must fail. `make attacks` runs them all, those that take minutes included; docs/security.md has a table of
what the worker promises with the test of each promise.
"""
