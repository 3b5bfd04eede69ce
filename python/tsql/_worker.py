"""Processes of `measure`: the command without the package around it.

Kernels are built and run there, with a minimal environment: no `PYTHONPATH`, no virtual environment. Therefore such a
process starts this file by its path, with the interpreter alone, and loads only the native module beside it.
"""

import importlib.util
import os
import sys


def command() -> list[str]:
    """Returns the command line that starts such a process, without arguments."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__)]


def main() -> int:
    """Runs the command with the arguments of the process.

    Returns:
        Exit code.
    """
    folder = os.path.dirname(os.path.abspath(__file__))
    found = next(name for name in sorted(os.listdir(folder)) if name.startswith("_native.") and name.endswith(".so"))
    spec = importlib.util.spec_from_file_location("_native", os.path.join(folder, found))
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    code: int = native.command(command(), ["tsql", *sys.argv[1:]])
    return code


if __name__ == "__main__":
    sys.exit(main())
