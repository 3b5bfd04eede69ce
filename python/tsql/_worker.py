"""What `measure` starts as processes of its own: the command, without the package around it.

Kernels are built and called there, with an environment that holds no more than they need: no `PYTHONPATH`, no virtual
environment. So it is started by its path, with the interpreter alone, and brings only the module that lies beside it.
"""

import importlib.util
import os
import sys


def command() -> list[str]:
    """The command line that starts it, before any arguments."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__)]


def main() -> int:
    """Runs as one of these processes; its exit code."""
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
