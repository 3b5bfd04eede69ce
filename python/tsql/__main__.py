"""The command: `tsql`, or `python -m tsql`."""

from __future__ import annotations

import os
import shutil
import sys


def main() -> int:
    """Runs the command with the words of the command line; its exit code."""
    from . import _native

    return _native.command(_program(), ["tsql", *sys.argv[1:]])


def _program() -> str:
    """What `tsql measure` starts as a process of its own: the script that this is, or the one beside the interpreter."""
    script = sys.argv[0]
    beside = os.path.join(os.path.dirname(sys.executable), "tsql")
    is_script = os.path.basename(script) == "tsql" and os.access(script, os.X_OK)
    return os.path.abspath(script) if is_script else shutil.which(beside) or beside


if __name__ == "__main__":
    sys.exit(main())
