"""Entry point of `python -m runtime.embedded`, with which `up` starts the supervisor."""

import sys

from runtime.embedded.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
