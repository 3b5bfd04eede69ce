"""Web UI. Its requests are tested in Rust, and its page in a browser."""

from __future__ import annotations

from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

import tsql


def test_the_web_ui_runs_until_it_is_closed(store: tsql.Store) -> None:
    ui = store.ui(name="mine")
    with urlopen(ui.url) as response:
        assert response.status == 200 and "HttpOnly" in response.headers["set-cookie"]
    with pytest.raises(HTTPError, match="403"):
        urlopen(ui.url[:-1])
    assert repr(ui) == "<tsql.Ui>"
    ui.close()
    ui.close()
    with pytest.raises(URLError):
        urlopen(ui.url)
    with pytest.raises(ValueError, match="port"):
        with store.ui() as first:
            store.ui(int(first.url.split(":")[2].split("/")[0]))
