"""Tries the wheel in an environment that has no other package. Run by release/smoke."""

import filecmp
import subprocess
import sys
from pathlib import Path

import tsql

print(sys.version.split()[0], "tsql", tsql.__version__)
assert tsql.sample().sql("SELECT count(*) FROM records").scalar() == 480

store = tsql.create("s")
store.ingest("/artifacts/data/epyc-2t")
assert store.sql("SELECT count(*) FROM records").scalar() == 240
subprocess.run(["tsql", "--store", "s", "export", "files", "-o", "back"], check=True)
pairs = 0
for original in Path("/artifacts/data/epyc-2t").iterdir():
    assert filecmp.cmp(original, Path("back/epyc-2t") / original.name, shallow=False)
    pairs += 1
assert pairs == 5
rows = store.sql("SELECT graph_key, min(runtime_ns) AS fastest FROM records GROUP BY ALL").rows()
assert len(rows) == 5, rows
store.plot("SELECT platform, runtime_ns FROM records WHERE error_no = 0", kind="box").save("plot.png")
assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
try:
    store.sql("SELECT nothing FROM records").rows()
except tsql.Error as error:
    assert "nothing" in str(error)
else:
    raise AssertionError("a wrong column passed")
