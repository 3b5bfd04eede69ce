"""Asking tsql, and telling what was published beside what it says."""

import csv
import io
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
TSQL = os.environ.get("TSQL", str(ROOT / "target/release/tsql"))


def tsql(*args, folder="."):
    """What the command prints."""
    ran = subprocess.run([TSQL, *map(str, args)], cwd=folder, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"tsql {' '.join(map(str, args))}: {ran.stderr}")
    return ran.stdout


def rows(sql, folder="."):
    """The rows of an answer, as dictionaries of text."""
    return list(csv.DictReader(io.StringIO(tsql(sql, "--format", "csv", folder=folder))))


def ingested(folder, *files, platform=None):
    """A store in a folder, with these files."""
    tsql("init", folder=folder)
    label = ["--platform", platform] if platform else []
    tsql("ingest", "-q", *label, *files, folder=folder)
