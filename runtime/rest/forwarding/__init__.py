"""Requests between the workers of a group: any worker answers any request, and forwards those that another one has to
carry out."""
