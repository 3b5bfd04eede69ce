"""Timings that are made here: of kernels in processes of their own, and of callables in this one."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

import tsql

KERNEL = """
void scale(const float *x, float *y) {
    for (int i = 0; i < N; i += STEP)
        for (int j = i; j < i + STEP && j < N; j++) y[j] = 2 * x[j];
}
"""

REFERENCE = "void right(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = x[i] + x[i]; }"

MANIFEST: dict[str, Any] = {
    "program": {"name": "scale", "language": "c", "source": "scale.c", "entry": "scale"},
    "workload": [{"params": {"N": 4096}, "flops": "N"}],
    "arg": [
        {"name": "x", "kind": "buffer", "dtype": "f32", "shape": ["N"], "role": "in"},
        {"name": "y", "kind": "buffer", "dtype": "f32", "shape": ["N"], "role": "out"},
    ],
    "space": {"STEP": [1, 2, 4]},
    "check": {"reference": {"source": "right.c", "entry": "right"}},
    "measure": {"repeat": 3, "max_repeat": 10, "min_repeat_ms": 0.5, "max_time_s": 0.3},
}

SOURCES = {"scale.c": KERNEL, "right.c": REFERENCE}

QUICK: dict[str, Any] = {"repeat": 3, "max_repeat": 10, "min_repeat_ms": 1.0, "max_time_s": 0.3}

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler for C is here")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals of these tests alone."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    monkeypatch.setenv("TSQL_STATE", str(state))
    return state


@needs_compiler
def test_a_kernel_in_a_string_is_measured_and_stored(own: tsql.Store) -> None:
    heard: list[tuple[str, int, int]] = []
    measured = own.measure(
        MANIFEST,
        SOURCES,
        search="grid",
        platform="here",
        labels={"night": "7"},
        progress=lambda *now: heard.append(now),
    )
    assert measured.failed == 0 and len(measured.trials) == 3 and measured.seed is None
    assert {json.loads(trial.steps)["STEP"] for trial in measured.trials} == {1, 2, 4}
    best = measured.best('["scale", {"N": 4096}]')
    assert best is not None and best.median_ns is not None and best.gflops == pytest.approx(4096 / best.median_ns)
    assert best.check_error == 0 and all(trial.repeats_ns for trial in measured.trials)
    rows = own.sql("SELECT steps, repeats_ns, platform FROM records JOIN configurations USING (graph_id, config_id) ORDER BY line").rows()
    # To a thousandth of a nanosecond.
    told = [(trial.steps, pytest.approx(trial.repeats_ns, abs=6e-4), "here") for trial in measured.trials]
    assert rows == told
    assert own.sql("SELECT value FROM labels WHERE key = 'night'").scalar() == "7"
    again = own.measure(MANIFEST, SOURCES, search="grid", platform="here", skip_existing=True)
    assert again.trials == [] and again.best() is None and own.check().is_sound


@needs_compiler
def test_kernels_that_fail_are_records_and_manifests_that_do_are_errors(own: tsql.Store) -> None:
    wrong = KERNEL.replace("2 * x[j]", "STEP == 2 ? 0 : 2 * x[j]")
    measured = own.measure(MANIFEST, {**SOURCES, "scale.c": wrong}, trials=3, seed=1)
    assert measured.failed == 1 and measured.seed == 1
    failed = next(trial for trial in measured.trials if trial.error_no)
    assert failed.error_no == 5 and failed.median_ns is None and failed.error_message
    assert own.sql("SELECT error_no FROM records WHERE status = 'failed'").scalar() == 5
    with pytest.raises(tsql.errors.UnknownName) as missing:
        own.measure(MANIFEST, {"scale.c": KERNEL})
    assert missing.value.name == "right.c"
    with pytest.raises(tsql.errors.InputError, match="entry"):
        own.measure({**MANIFEST, "program": {"name": "scale", "language": "c", "source": "scale.c"}}, SOURCES)
    with pytest.raises(tsql.errors.ArgumentError, match="evolve"):
        own.measure(MANIFEST, SOURCES, search="nothing")
    with pytest.raises(tsql.errors.ArgumentError, match="cpu"):
        own.measure(MANIFEST, SOURCES, target="tpu")
    with pytest.raises(tsql.errors.UnknownName):
        own.measure("no-template-of-this-name")


@needs_compiler
def test_ctrl_c_ends_a_run_and_keeps_what_was_measured(own: tsql.Store) -> None:
    program = f"""
import signal, sys, time, tsql
signal.signal(signal.SIGINT, signal.default_int_handler)
store = tsql.open({own.location!r})
manifest = {dict(MANIFEST, space={"STEP": list(range(1, 400))})!r}
heard = []
def progress(what, done, of):
    # It is told from time to time, and a quick machine is beyond the third by then.
    if done >= 3 and not heard:
        heard.append(done)
        print("third", flush=True)
try:
    store.measure(manifest, {SOURCES!r}, search="grid", progress=progress)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    time.sleep(3)
print(store.sql("SELECT count(*) FROM records").scalar(), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "third\n"
    pressed = time.time()
    child.send_signal(signal.SIGINT)
    told, _ = child.communicate(timeout=120)
    interrupted, count = told.strip().split("\n")
    # 0.5 s on a machine of one's own.
    assert float(interrupted.split()[1]) - pressed < 1.5
    own.resume_measured()
    assert int(count) >= 3 and own.sql("SELECT count(*) FROM records").scalar() < 399


@needs_compiler
def test_records_are_measured_again_where_their_programs_are_trusted(own: tsql.Store) -> None:
    own.measure(MANIFEST, SOURCES, search="grid", platform="here")
    with pytest.raises(tsql.errors.ArgumentError, match="would be built and run on this machine") as caught:
        own.measure_repeat()
    assert "scale.c (5 lines, xxh3 " in str(caught.value) and "trust=True" in str(caught.value)
    medians = "SELECT c.steps, median(t) FROM (SELECT config_id, unnest(repeats_ns) AS t FROM records) JOIN configurations AS c USING (config_id) GROUP BY 1"
    before = {row["steps"]: row["median(t)"] for row in own.sql(medians).arrow().to_pylist()}
    again = own.measure_repeat("platform = 'here'", change=9.0, trust=True, platform="here")
    assert len(again.records) == 3 and again.skipped == 0 and again.run.failed == 0 and again.run.platform == "here"
    assert {record.verdict for record in again.records} <= {"same", "unclear"} and not any(record.machine_differences for record in again.records)
    assert {record.steps: record.old_ns for record in again.records} == pytest.approx(before)
    assert own.sql("SELECT count(*) FROM records").scalar() == 6
    with pytest.raises(tsql.errors.ArgumentError, match="no selected record can be measured again"):
        own.measure_repeat("error_no = 7", trust=True)
    with pytest.raises(tsql.errors.Error, match="no_such"):
        own.measure_repeat("no_such = 7", trust=True)


PRINTS = """
import sys, time
print("begins", flush=True)
for tile in range({count}):
    print('{{"workload_key": ["mm", 8], "steps": {{"t": %d}}, "repeats_ns": [5, 7]}}' % tile, flush=True)
print('{{"no": "record"}}', flush=True)
try:
    time.sleep({seconds})
except KeyboardInterrupt:
    open({told!r}, "w").close()
sys.exit(3)
"""


def test_records_of_another_program_are_taken(own: tsql.Store) -> None:
    command = [sys.executable, "-c", PRINTS.format(count=2, seconds=0, told="")]
    done = own.measure_exec(command, platform="p", name="night", labels={"night": "7"})
    assert done.exit_code == 3 and (done.stored.records, done.stored.rejects) == (2, 1)
    ((_, line, reason),) = done.stored.first_rejects
    assert line == 3 and "unknown key `no`" in reason
    assert done.stream.startswith("measure/night-") and own.sql("SELECT runtime_ns FROM records").arrow()["runtime_ns"].to_pylist() == [6, 6]
    assert own.sql("SELECT count(*) FROM records JOIN labels USING (source_id) WHERE key = 'night' AND value = '7'").scalar() == 2
    with pytest.raises(tsql.errors.ArgumentError, match="`measured` or `tenset`"):
        own.measure_exec(command, platform="p", format="autotvm")
    with pytest.raises((OSError, tsql.errors.Error), match="no-such-program"):
        own.measure_exec(["no-such-program"], platform="p")
    assert own.sql("SELECT count(*) FROM records").scalar() == 2


def test_ctrl_c_stops_a_program_and_keeps_its_records(own: tsql.Store, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = f"""
import signal, sys, time, tsql
signal.signal(signal.SIGINT, signal.default_int_handler)
store = tsql.open({own.location!r})
print("begun", flush=True)
try:
    store.measure_exec([sys.executable, "-c", {PRINTS.format(count=4, seconds=60, told=str(told))!r}], platform="p")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    time.sleep(3)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(3)
    # As in a notebook: the kernel alone hears of it.
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=120)
    assert said == "interrupted\n" and told.exists()
    own.resume_measured()
    assert own.sql("SELECT count(*) FROM records").scalar() == 4


@needs_compiler
def test_the_command_of_the_package_measures(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "tsql", "--store", str(tmp_path / "s"), "measure", "run", str(tmp_path / "manifest.json")]
    done = subprocess.run([*command, "--search", "grid"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 trials, 0 failed" in done.stderr
    assert tsql.open(tmp_path / "s").sql("SELECT count(*) FROM records").scalar() == 3


def test_a_callable_takes_as_long_as_it_waits(own: tsql.Store) -> None:
    def waits(seconds: float) -> None:
        time.sleep(seconds)

    timing = tsql.measure.callable(waits, [0.002], store=own, steps={"TILE": 8}, platform="here", **QUICK)
    assert timing.error_no == 0 and timing.median_ns is not None and 2e6 <= timing.median_ns < 2e7
    assert timing.cpu_repeats_ns is not None and timing.cpu_repeats_ns[0] < timing.median_ns / 2
    assert (timing.workload_key, timing.target) == ('["waits", {"args": [0.002]}]', "python")
    row = own.sql(
        "SELECT workload_key, steps, configurations.program, platform, repeats_ns, flags, target, settings, machine FROM records"
        " JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id) JOIN environments USING (environment_id)"
    ).dicts()
    assert len(row) == 1
    assert (row[0]["workload_key"], row[0]["steps"], row[0]["platform"]) == (timing.workload_key, '{"TILE": 8}', "here")
    assert row[0]["repeats_ns"] == pytest.approx(timing.repeats_ns, abs=0.001)
    assert (row[0]["flags"] or []) == timing.flags and row[0]["target"] == "python"
    assert json.loads(row[0]["settings"])["protocol"]["repeat"] == 3
    assert json.loads(row[0]["machine"])["toolchain"]["version_line"].startswith("CPython 3")


def test_a_run_keeps_many_and_another_source_is_another_configuration(own: tsql.Store) -> None:
    with tsql.measure.Run(own, "sums", platform="here", labels={"night": "7"}) as run:
        for size in (10, 1000):
            run.callable(numpy.sum, [numpy.ones(size, dtype="f4")], **QUICK)
        run.callable(numpy.sum, [numpy.ones(10, dtype="f4")], program="sum@2", **QUICK)
        assert run.commit() == 3
        assert own.sql("SELECT count(*) FROM records").scalar() == 3
    assert run.report is not None and run.report.records == 3 and run.report.new_configurations == 3
    keys = own.sql("SELECT DISTINCT workload_key FROM graphs ORDER BY 1").rows()
    assert keys == [('["sum", {"args": [["float32", [1000]]]}]',), ('["sum", {"args": [["float32", [10]]]}]',)]
    assert own.sql("SELECT DISTINCT value FROM labels").rows() == [("7",)]
    with pytest.raises(tsql.errors.ClosedError):
        run.callable(sorted, [[1]], **QUICK)


def test_what_a_callable_raises(own: tsql.Store) -> None:
    calls: list[int] = []

    def fails() -> None:
        calls.append(1)
        if len(calls) % 5 == 0:
            raise ValueError("too large")

    with pytest.raises(ValueError, match="too large"):
        tsql.measure.callable(fails, store=own, **QUICK)
    assert own.sql("SELECT count(*) FROM records").scalar() == 0
    timing = tsql.measure.callable(fails, store=own, raises=False, **QUICK)
    assert (timing.error_no, timing.error_message, timing.median_ns) == (4, "ValueError: too large", None)
    assert own.sql("SELECT status, error_message FROM records").rows() == [("failed", "ValueError: too large")]
    with pytest.raises(tsql.errors.ArgumentError, match="warm"):
        tsql.measure.callable(sorted, [[1]], cache="hot")
    cold = tsql.measure.callable(sorted, [list(range(100))], cache="cold", **QUICK)
    assert cold.number == 1 and cold.median_ns


class FakeGpu:
    """A GPU on which a call takes 250 µs, as torch would tell it."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.flushes = 0

    def torch(self) -> ModuleType:
        torch = ModuleType("torch")
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at_ms = gpu.now_ms

            def synchronize(self) -> None:
                pass

            def elapsed_time(self, other: Any) -> float:
                return float(other.at_ms - self.at_ms)

        class Empty:
            def zero_(self) -> None:
                gpu.flushes += 1

        class Device:
            def __init__(self, device: Any) -> None:
                pass

            def __enter__(self) -> None:
                pass

            def __exit__(self, *_: object) -> None:
                pass

        about = SimpleNamespace(name="NVIDIA H200", major=9, minor=0, L2_cache_size=1 << 20)
        torch.cuda = SimpleNamespace(Event=Event, device=Device, get_device_properties=lambda _: about, current_device=lambda: 0)  # type: ignore[attr-defined]
        torch.empty = lambda *_, **__: Empty()  # type: ignore[attr-defined]
        torch.int8 = "int8"  # type: ignore[attr-defined]
        torch.__version__ = "9.9"  # type: ignore[attr-defined]
        return torch

    def tensor(self) -> Any:
        return SimpleNamespace(is_cuda=True, device=SimpleNamespace(index=0), shape=(128, 64), dtype="torch.float16")

    def kernel(self, _: Any) -> None:
        self.now_ms += 0.25


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGpu]:
    fake = FakeGpu()
    monkeypatch.setitem(sys.modules, "torch", fake.torch())
    yield fake


def test_tensors_on_a_gpu_are_timed_by_its_events(own: tsql.Store, gpu: FakeGpu) -> None:
    timing = tsql.measure.callable(gpu.kernel, [gpu.tensor()], store=own, **QUICK)
    assert timing.repeats_ns == pytest.approx([250_000.0] * len(timing.repeats_ns)) and timing.cpu_repeats_ns is None
    assert (timing.target, timing.median_ns) == ("cuda -arch=sm_90", pytest.approx(250_000.0)) and gpu.flushes == 0
    assert timing.workload_key == '["kernel", {"args": [["float16", [128, 64]]]}]'
    assert own.sql("SELECT DISTINCT platform FROM records").rows() == [("nvidia-h200",)]
    cold = tsql.measure.callable(gpu.kernel, [gpu.tensor()], cache="cold", **QUICK)
    assert cold.number == 1 and gpu.flushes == len(cold.repeats_ns)


def test_what_a_killed_process_has_timed_is_stored_once(own: tsql.Store, state: Path) -> None:
    program = f"""
import os, signal, tsql
run = tsql.measure.Run(tsql.open({own.location!r}), "killed", platform="here", commit_records=3)
for size in range(1, 6):
    run.callable(sorted, [list(range(size))], repeat=2, max_repeat=3, min_repeat_ms=0.1, max_time_s=0.1)
print("five", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(2):
        child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert child.stdout == "five\n" and child.returncode == -signal.SIGKILL, child.stderr
    # The second one has stored what the first left.
    assert own.sql("SELECT count(*) FROM records").scalar() == 8
    resumed = own.resume_measured()
    assert (resumed.journals, resumed.records) == (1, 2) and own.resume_measured().journals == 0
    assert own.sql("SELECT count(*), count(DISTINCT source_id) FROM records").rows() == [(10, 2)]
    assert list((state / "journals").iterdir()) == []


def test_a_store_in_memory_ends_with_its_process_and_takes_no_timings_of_others(state: Path) -> None:
    program = """
import os, signal, tsql
run = tsql.measure.Run(tsql.create("memory:"), "killed", platform="there")
run.callable(sorted, [[2, 1]], repeat=2, max_repeat=3, min_repeat_ms=0.1, max_time_s=0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL and len(list((state / "journals").iterdir())) == 1, child.stderr
    mine, other = tsql.create("memory:"), tsql.create("memory:")
    with tsql.measure.Run(mine, "mine", platform="here") as run:
        run.callable(sorted, [[2, 1]], **QUICK)
        resumed = other.resume_measured()
        assert (resumed.journals, resumed.elsewhere) == (0, [])
    assert mine.sql("SELECT platform FROM records").rows() == [("here",)]
    assert other.sql("SELECT count(*) FROM records").scalar() == 0
    assert list((state / "journals").iterdir()) == []


def test_the_machine_is_told() -> None:
    assert {finding.level for finding in tsql.measure.doctor()} <= {"ok", "note", "warning"}
    assert tsql.measure.machine()["processor"]["architecture"] and tsql.measure.devices()[0].startswith("cpu")
    assert "matmul" in tsql.measure.templates()
