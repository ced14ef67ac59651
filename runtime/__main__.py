"""Runs the runtime's verbs as a module."""

import sys

from runtime.main import main

sys.exit(main(sys.argv[1:]))
