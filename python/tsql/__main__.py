"""The command line: `tsql`, or `python -m tsql`."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command with the arguments of the process.

    Returns:
        Exit code.
    """
    from . import _native, _worker

    return _native.command(_worker.command(), ["tsql", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
