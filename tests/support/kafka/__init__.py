"""Brokers, their faults, and their topics as tests read and write them."""
