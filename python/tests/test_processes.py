"""Ctrl-C, forks, pickles, memory, the command."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest
from conftest import DATA

import tsql

LONG = "SELECT count(*) FROM generate_series(1, 3000000) AS a(x), generate_series(1, 3000000) AS b(y) WHERE x * y % 7 = 3"

READS = {
    "rows": "store.sql(LONG).rows()",
    "arrow": "store.sql(LONG).arrow()",
    "stream": "pyarrow.RecordBatchReader.from_stream(store.sql(LONG)).read_all()",
    "polars": "polars.DataFrame(store.sql(LONG))",
}


@pytest.mark.parametrize("how", READS)
def test_ctrl_c_ends_a_question_and_the_next_one_works(how: str) -> None:
    program = f"""
import polars, pyarrow, signal, time, tsql
signal.signal(signal.SIGINT, signal.default_int_handler)
LONG = {LONG!r}
store = tsql.sample()
print("asks", flush=True)
try:
    try:
        {READS[how]}
    except (pyarrow.ArrowException, polars.exceptions.PolarsError) as error:
        # Who reads by Arrow's interface for C sees that it failed: half an answer is none. The interrupt follows.
        assert "KeyboardInterrupt" in str(error)
        time.sleep(5)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
print(store.sql("SELECT 42").scalar(), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "asks\n"
    time.sleep(1)
    pressed = time.time()
    child.send_signal(signal.SIGINT)
    told, _ = child.communicate(timeout=60)
    lines = told.split("\n")
    assert lines[0].startswith("interrupted") and lines[1] == "42", told
    assert float(lines[0].split()[1]) - pressed < 0.5


def ask(store: tsql.Store, answers: "multiprocessing.Queue[object]") -> None:
    answers.put(store.sql("SELECT count(*) FROM records").scalar())


@pytest.mark.parametrize("way", ["fork", "forkserver", "spawn"])
def test_children_ask_after_their_parent_did(store: tsql.Store, way: str) -> None:
    count = store.sql("SELECT count(*) FROM records").scalar()
    context = multiprocessing.get_context(way)
    answers = context.Queue()
    children = [context.Process(target=ask, args=(store, answers)) for _ in range(2)]
    for child in children:
        child.start()
    assert [answers.get(timeout=60) for _ in children] == [count, count]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert store.sql("SELECT count(*) FROM records").scalar() == count


def test_pickles_name_the_store_and_nothing_else(store: tsql.Store, location: str) -> None:
    pinned = store.pin()
    for one in (store, pinned):
        text = pickle.dumps(one)
        assert location.encode() in text
        again = pickle.loads(text)
        assert again.version == one.version and repr(again) == repr(one)
    with pytest.raises(tsql.errors.ArgumentError):
        pickle.dumps(tsql.create("memory:"))
    try:
        store.sql("SELECT nothing FROM records")
    except tsql.errors.SqlError as error:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.column) == (type(error), str(error), error.column)


def test_streams_stay_in_bounded_memory() -> None:
    program = """
import resource, tsql
store = tsql.sample()
rows = 0
store.sql("SELECT 1").rows()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for batch in store.sql("SELECT x, x * 2 AS y, x * 3 AS z FROM generate_series(1, 40000000) AS t(x)"):
    rows += len(batch)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(rows, (after - before) // 1024)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    rows, grown_mib = map(int, told.split())
    assert rows == 40_000_000 and grown_mib < 300


def test_importing_brings_no_other_package() -> None:
    late = ("numpy", "pyarrow", "polars", "pandas", "torch", "tsql._reports", "tsql._findings", "tsql.measure")
    program = f"import sys, tsql; print([name for name in {late!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "[]\n"


def test_the_command_is_in_the_package() -> None:
    command = [sys.executable, "-m", "tsql", "--sample", "--format", "csv", "SELECT count(*) AS n FROM records"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "n\n480\n")
    wrong = subprocess.run([*command[:-1], "SELECT nothing FROM records"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and "no column named `nothing`" in wrong.stderr


def test_messages_go_to_logging_and_stores_are_found(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    with pytest.raises(tsql.errors.NotAStore):
        tsql.open()
    tsql.create(".tsql").ingest(DATA / "epyc-1t")
    os.mkdir("below")
    monkeypatch.chdir("below")
    assert tsql.open().sql("SELECT count(*) FROM records").scalar() == 240
