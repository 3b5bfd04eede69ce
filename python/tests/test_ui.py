"""The page on which a store is asked: what it does is tested in Rust and in a browser."""

from __future__ import annotations

from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

import tsql


def test_a_page_is_served_until_it_is_closed(store: tsql.Store) -> None:
    ui = store.ui(name="mine")
    with urlopen(ui.url) as door:
        assert door.status == 200 and "HttpOnly" in door.headers["set-cookie"]
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
