"""Entry point of `python -m runtime`."""

import sys

from runtime.main import main

sys.exit(main(sys.argv[1:]))
