"""Shared parts of the tests: real brokers, workers and clients, and rigs for units."""
