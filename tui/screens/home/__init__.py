"""The main screen: its parts (`pieces`), moving about (`moves`), all together (`screen`); its keys, which of them work
now, the typed line, what it hears."""

from tui.screens.home.screen import Home as Home
