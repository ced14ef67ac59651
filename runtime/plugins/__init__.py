"""Which plugins exist and where their classes are. Plugins themselves live elsewhere."""
