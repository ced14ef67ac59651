"""The main screen: connector list, keys, prompt, status line. Knows every other screen and opens it.

`base` holds the shared state; `screen` creates the parts and connects them. What a page shows or sends belongs to the
page's own folder.
"""

from tui.screens.home.screen import Home as Home
