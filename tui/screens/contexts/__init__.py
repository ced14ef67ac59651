"""Screens between contexts: choosing another one, differences of connectors, promotion."""
