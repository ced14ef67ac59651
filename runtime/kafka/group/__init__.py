"""Membership in Connect's worker group."""
