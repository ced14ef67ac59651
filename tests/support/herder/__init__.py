"""Rigs of a herder and of worker groups without processes."""
