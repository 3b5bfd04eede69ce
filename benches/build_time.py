#!/usr/bin/env python3
"""Times builds of tsql beside a crate that only depends on DataFusion, Parquet and Delta Lake.

    benches/build_time.py clean [--work DIR]       both from nothing, in the profile of `cargo run`
    benches/build_time.py incremental [--target DIR] [CRATE ...]
                                                   after a change of one line in each crate

Machines differ, so the result of `clean` is a ratio. `incremental` changes `src/lib.rs` of each crate, and restores it. It
builds each crate once before, because `cargo test -p CRATE` builds dependencies with other features than `cargo test`: the
first time takes many minutes. Run both on a quiet machine.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELLO = """
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> datafusion::error::Result<()> {
    println!("{}", deltalake_core::crate_version());
    println!("{:?}", parquet::basic::Compression::UNCOMPRESSED);
    SessionContext::new().sql("SELECT 1").await?.show().await
}
"""


def timed(command: list[str], folder: pathlib.Path, target: pathlib.Path) -> tuple[float, float, int]:
    """Returns wall time and processor time of a command, in seconds, and the number of compiled crates."""
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never"}
    begin = time.monotonic()
    child = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert child.stderr is not None
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed:\n{text}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, text.count("   Compiling ")


def write_hello(folder: pathlib.Path) -> None:
    """Writes a crate with the workspace's versions, features and profile of the three libraries."""
    manifest = (ROOT / "Cargo.toml").read_text()
    shared = tomllib.loads(manifest)["workspace"]["dependencies"]
    names = ["datafusion", "parquet", "deltalake-core", "tokio"]
    lines = ["[package]", 'name = "hello"', 'version = "0.1.0"', 'edition = "2024"', "", "[dependencies]"]
    for name in names:
        given = shared[name]
        features = ", ".join(f'"{feature}"' for feature in given["features"])
        defaults = str(given.get("default-features", True)).lower()
        version = given["version"]
        lines.append(f'{name} = {{ version = "{version}", default-features = {defaults}, features = [{features}] }}')
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text(HELLO)
    shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
    # Overrides of packages that `hello` does not build are warnings.
    profiles = manifest[manifest.index("[profile.dev]") : manifest.index("[profile.release]")]
    (folder / "Cargo.toml").write_text("\n".join(lines) + "\n\n" + profiles)


def clean(work: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = pathlib.Path(name)
        (folder / "hello").mkdir()
        write_hello(folder / "hello")
        results = []
        for what, root in (("hello", folder / "hello"), ("tsql", ROOT)):
            command = ["cargo", "build"] if what == "hello" else ["cargo", "build", "--locked"]
            target = folder / f"target-{what}"
            results.append(timed(command, root, target))
            wall, processor, crates = results[-1]
            print(f"{what:6} {wall:6.0f} s wall {processor:6.0f} s of processor time {crates:4} crates", flush=True)
            shutil.rmtree(target)
        (hello, of_hello, _), (tsql, of_tsql, _) = results
        print(f"ratio  {tsql / hello:6.2f} wall {of_tsql / of_hello:6.2f} of processor time")


def incremental(target: pathlib.Path, names: list[str]) -> None:
    names = names or sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
    print("crate           test build   command  (s)")
    tests, builds = [], []
    for name in names:
        source = ROOT / "crates" / name / "src/lib.rs"
        package = tomllib.loads((source.parent.parent / "Cargo.toml").read_text())["package"]["name"]
        before = source.read_text()
        test_build = ["cargo", "test", "--locked", "-p", package, "--no-run"]
        timed(test_build, ROOT, target)
        timed(["cargo", "build", "--locked"], ROOT, target)
        try:
            source.write_text(before + "\nconst _: u32 = 1;\n")
            test = timed(test_build, ROOT, target)[0]
            source.write_text(before + "\nconst _: u32 = 2;\n")
            build = timed(["cargo", "build", "--locked"], ROOT, target)[0]
        finally:
            source.write_text(before)
        tests.append(test)
        builds.append(build)
        print(f"{name:16} {test:9.1f} {build:9.1f}", flush=True)
    for what, times in (("median", statistics.median), ("maximum", max)):
        print(f"{what:16} {times(tests):9.1f} {times(builds):9.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    both = commands.add_parser("clean", help="both from nothing")
    both.add_argument("--work", help="folder for the builds, about 20 GB")
    after = commands.add_parser("incremental", help="after a change of one line in each crate")
    after.add_argument("--target", type=pathlib.Path, default=ROOT / "target", help="folder with earlier builds")
    after.add_argument("crates", nargs="*", metavar="CRATE", help="names of folders below crates (default: all)")
    args = parser.parse_args()
    if args.command == "clean":
        clean(args.work)
    else:
        incremental(args.target, args.crates)


if __name__ == "__main__":
    main()
