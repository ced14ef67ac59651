"""The available plugins and the locations of their classes. The plugins themselves are in other packages."""
