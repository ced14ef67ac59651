"""`python -m runtime.embedded`: how `up` starts the supervisor."""

import sys

from runtime.embedded.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
