#!/usr/bin/env python3
"""TpuGraphs: how fast tsql ingests it, how small it keeps it, how fast it gives batches, beside
its peers, in one run.

    cargo build --release
    python3 benches/tpugraphs_generate.py DIR --scale 0.01     # made-up files of the real size
    python3 benches/tpugraphs.py DIR [--rounds 5]              # default: the shared real files

Needs numpy; cargo for the inflaters, xz for its row.

Ingest, in MB of inflated array bytes a second (medians of interleaved rounds, least and greatest
beside them): the limit is inflating the same bytes and nothing more, streamed by zlib-rs and as
whole arrays by libdeflate, on one thread; the peer is `numpy.load` of every array. tsql is the whole
command: start, check sums, groups, deduplication, Parquet, logs, fsync, on one thread and on all.
Also its greatest memory (resident set).

Size, in bytes: the data files of the store after `tsql optimize` and the whole folder after
`tsql vacuum`, beside the npz files, and `xz -6` of the raw arrays of each file (of layout files up to
--xz-bytes, else that row is left out).

Batches: `k` random configurations of the largest layout file, expanded to (k, slots, 18) int8:
`numpy.load` of the npz and its rows; rows of an int8 .npy file that is memory-mapped (made before,
in the cache of the operating system), at random places each time; `tsql batch --steps N` to an Arrow
stream that nobody reads, a step each. tsql's first step includes opening the store; later ones are
what a further step costs.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
TSQL = TARGET / "release" / "tsql"
STEPS = 2000


def run(command, **more):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, **more)


def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ingest(folder, threads, store):
    shutil.rmtree(store, ignore_errors=True)
    command = [TSQL, "ingest", "--quiet", "--store", store, "--threads", threads, folder]
    return timed(lambda: run(command))


def memory_of_ingest(folder, store):
    """Greatest resident set of one ingest in MB, by a child of its own."""
    if (pid := os.fork()) == 0:
        ingest(folder, os.cpu_count(), store)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        pathlib.Path(f"{store}.memory").write_text(str(usage / 1e3))
        os._exit(0)
    os.waitpid(pid, 0)
    return float(pathlib.Path(f"{store}.memory").read_text())


def load_all(files):
    for path in files:
        with numpy.load(path) as arrays:
            for name in arrays.files:
                arrays[name]


def inflaters(files):
    if not shutil.which("cargo"):
        return None
    target = TARGET / "inflate_limit"
    manifest = HERE / "inflate_limit" / "Cargo.toml"
    run(["cargo", "build", "--quiet", "--release", "--manifest-path", manifest, "--target-dir", target])
    return lambda: dict(
        line.split() for line in run([target / "release" / "inflate_limit", *files]).stdout.decode().splitlines()
    )


def speed(folder, files, rounds, scratch):
    raw = sum(member_bytes(path) for path in files)
    inflate = inflaters(files)
    cores = os.cpu_count()
    seconds = {}
    for _ in range(rounds):
        if inflate:
            found = inflate()
            seconds.setdefault("zlib-rs, inflate only, 1 thread", []).append(float(found["zlib-rs"]))
            seconds.setdefault("libdeflate, inflate only, 1 thread", []).append(float(found["libdeflate"]))
        seconds.setdefault("numpy.load, 1 thread", []).append(timed(lambda: load_all(files)))
        for threads in sorted({1, cores}):
            row = f"tsql ingest, {threads} parsing threads"
            seconds.setdefault(row, []).append(ingest(folder, threads, scratch / "store"))
    print(f"\ningest: {len(files)} files, {raw / 1e6:.0f} MB inflated, {rounds} rounds, {cores} cores")
    print(f"{'':40} {'MB/s':>8} {'least':>8} {'greatest':>9}")
    for row, taken in seconds.items():
        rates = sorted(raw / 1e6 / second for second in taken)
        print(f"{row:40} {statistics.median(rates):8.0f} {rates[0]:8.0f} {rates[-1]:9.0f}")
    memory = memory_of_ingest(folder, scratch / "memory")
    print(f"greatest memory of tsql ingest: {memory:.0f} MB")


def member_bytes(path):
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def xz_bytes(path):
    with numpy.load(path) as arrays:
        process = subprocess.Popen(["xz", "-6", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        import threading

        def feed():
            for name in arrays.files:
                process.stdin.write(arrays[name].tobytes())
            process.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        count = sum(len(piece) for piece in iter(lambda: process.stdout.read(1 << 20), b""))
        feeder.join()
        process.wait()
    return count


def size(folder, files, limit, scratch):
    store = scratch / "store"
    ingest(folder, os.cpu_count(), store)
    records = run([TSQL, "--store", store, "SELECT count(*) FROM records"]).stdout.split()[-1]
    run([TSQL, "optimize", "--store", store])
    run([TSQL, "vacuum", "--retain", "0s", "--store", store])
    data = [path for path in store.rglob("*.parquet") if "_delta_log" not in str(path)]
    npz = sum(path.stat().st_size for path in files)
    raw = sum(member_bytes(path) for path in files)
    rows = [("npz files", npz), ("raw arrays", raw)]
    if shutil.which("xz") and raw <= limit:
        rows.append(("xz -6 of the raw arrays, file by file", sum(map(xz_bytes, files))))
    rows.append(("tsql, data files", sum(path.stat().st_size for path in data)))
    everything = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    rows.append(("tsql, whole folder", everything))
    print(f"\nsize: {len(files)} files, {int(records)} samples")
    print(f"{'':40} {'bytes':>14} {'a sample':>9} {'of npz':>8}")
    for name, count in rows:
        print(f"{name:40} {count:14} {count / int(records):9.2f} {count / npz:8.4f}")


def batches(folder, files, k, rounds, scratch):
    layouts = [path for path in files if "layout" in path.parts]
    if not layouts:
        return
    path = max(layouts, key=member_bytes)
    parts = path.parts[path.parts.index("layout") :]
    file_id = f"layout:{parts[1]}:{parts[2]}:{path.stem}"
    store = scratch / "store"
    ingest(folder, os.cpu_count(), store)
    run([TSQL, "optimize", "--store", store])
    with numpy.load(path) as arrays:
        rows = arrays["node_config_feat"].astype(numpy.int8)
    numpy.save(scratch / "rows.npy", rows)
    count, shape = len(rows), rows.shape[1:]
    del rows
    mapped = numpy.load(scratch / "rows.npy", mmap_mode="r")
    mapped[:].sum()
    random = numpy.random.default_rng(1)

    def from_npz():
        with numpy.load(path) as arrays:
            arrays["node_config_feat"][random.choice(count, min(k, count), replace=False)]

    def from_map():
        for _ in range(STEPS):
            numpy.array(mapped[random.choice(count, min(k, count), replace=False)])

    def from_tsql(steps):
        command = [TSQL, "batch", "--store", store, file_id, "-k", k, "--steps", steps, "-o", os.devnull]
        return lambda: run(command)

    seconds = {"numpy.load of the npz": [], "int8 memory map": [], "tsql batch, a process for one step": [], "tsql batch, a further step": []}
    for _ in range(rounds):
        seconds["numpy.load of the npz"].append(timed(from_npz))
        seconds["int8 memory map"].append(timed(from_map) / STEPS)
        one = timed(from_tsql(1))
        seconds["tsql batch, a process for one step"].append(one)
        seconds["tsql batch, a further step"].append((timed(from_tsql(1 + STEPS)) - one) / STEPS)
    print(f"\nbatches: {min(k, count)} of {count} configurations of {shape[0]} nodes, {file_id}, {rounds} rounds")
    print(f"{'':40} {'ms':>10} {'least':>10} {'greatest':>10}")
    for row, taken in seconds.items():
        taken = sorted(1e3 * second for second in taken)
        print(f"{row:40} {statistics.median(taken):10.3f} {taken[0]:10.3f} {taken[-1]:10.3f}")
    print(f"bytes of the int8 file: {(scratch / 'rows.npy').stat().st_size}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    shared = HERE.parent.parent / "shared" / "data" / "tpugraphs" / "npz"
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=shared)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-k", type=int, default=128)
    parser.add_argument("--xz-bytes", type=float, default=1e9)
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for temporary files")
    options = parser.parse_args()
    files = sorted(options.folder.rglob("*.npz"))
    if not files:
        sys.exit(f"no npz files in {options.folder}: make some with benches/tpugraphs_generate.py")
    print(run([TSQL, "--version"]).stdout.decode().strip(), "numpy", numpy.__version__)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        speed(options.folder, files, options.rounds, scratch)
        size(options.folder, files, options.xz_bytes, scratch)
        batches(options.folder, files, options.k, options.rounds, scratch)


if __name__ == "__main__":
    main()
