"""Generates pages of the documentation: commands, cookbook, tables, functions and notebooks.

A hook of mkdocs. The pages come from the built package `tsql`, so they describe this build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from generators import commands, cookbook, notebooks, reference

DOCS = Path(__file__).parent

# Folders of generated pages in the navigation of mkdocs.yml.
_FOLDERS = {f"{commands.FOLDER}/": commands.nav, f"{cookbook.FOLDER}/": cookbook.nav}

_OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:benches/README|CONTRIBUTING|README)\.md[^)]*\)")


def on_config(config: Any) -> Any:
    """Replaces the folders in the navigation by their pages."""
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_expanded(item) for item in nav]
    if isinstance(nav, dict):
        return {title: _expanded(item) for title, item in nav.items()}
    return _FOLDERS[nav]() if nav in _FOLDERS else nav


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages."""
    from mkdocs.structure.files import File

    found = commands.pages() | cookbook.pages() | reference.pages() | notebooks.pages(DOCS / "notebooks")
    for path, text in found.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replaces links to files outside the documentation by their text."""
    return _OUTSIDE.sub(r"\1", markdown)
