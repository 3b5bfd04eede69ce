"""Pages of the notebooks, with their outputs."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from .markdown import fence

# Attributes and styles with which pandas overrides the style of the page.
_PANDAS = re.compile(r'<style scoped>.*?</style>| border="1" class="dataframe"| style="text-align: right;"', re.DOTALL)
_IMAGES = {"image/svg+xml": "svg+xml", "image/png": "png"}


def pages(folder: Path) -> dict[str, str]:
    """Returns the Markdown of the notebooks of a folder by path."""
    paths = sorted(folder.glob("*.ipynb"))
    return {f"notebooks/{path.stem}.md": _page(json.loads(path.read_text())) for path in paths}


def _page(notebook: dict[str, Any]) -> str:
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            # Links to other notebooks lead to their pages.
            parts.append(source.replace(".ipynb)", ".md)"))
            continue
        parts.append(fence("python", source))
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(part for part in parts if part)


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    for kind, subtype in _IMAGES.items():
        if kind in data:
            return f"![Plot of the cell above](data:image/{subtype};base64,{_base64(kind, ''.join(data[kind]))})"
    if "text/html" in data:
        return _PANDAS.sub("", "".join(data["text/html"])).replace("<div>", "").replace("</div>", "")
    text = "".join(output.get("text") or data.get("text/plain", ""))
    return fence("text", text) if text.strip() else ""


def _base64(kind: str, data: str) -> str:
    """An image without line breaks; notebooks store SVG as text."""
    encoded = data if kind == "image/png" else base64.b64encode(data.encode()).decode()
    return "".join(encoded.split())
