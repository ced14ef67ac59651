"""A connector's page and its tabs, except the larger tabs `offsets` and `config`, which have folders of their own."""
