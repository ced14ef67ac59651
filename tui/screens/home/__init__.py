"""The main screen, in pieces: the screen itself, its keys, which of them work now, the typed line, what it hears."""

from tui.screens.home.screen import Home as Home
