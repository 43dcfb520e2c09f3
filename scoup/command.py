"""The command ``scoup``: it runs the workflow at once, and leaves the other verbs to ``verbs``."""

import subprocess
import sys
from collections.abc import Sequence

from scoup.errors import ScoupError
from scoup.extras import require
from scoup.run import printable, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["run"] and not {"-h", "--help"} & set(words):
            return run(words[1:])  # its options are Snakemake's
        if words[:1] == ["ui"]:
            require("mlflow", "workflow")
            return subprocess.call([sys.executable, "-m", "scoup.track", *words])
        # What reads and shows files takes a second to import, which a run need not wait for.
        from scoup.verbs import answer

        return answer(words)
    except (ScoupError, OSError, MemoryError) as error:
        sys.stderr.write(f"scoup: {printable(str(error))}\n")
        return 2
