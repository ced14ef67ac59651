"""Helpers of transformations that look up, check, cast and copy fields."""
