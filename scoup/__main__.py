"""``python -m scoup``: the same as the command ``scoup``."""

import sys

from scoup.command import main

sys.exit(main())
