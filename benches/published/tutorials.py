#!/usr/bin/env python3
"""TVM's tutorials tune_network_x86 and tune_network_cuda: the latencies that they print, from the logs that come with them.

    cargo build --release
    python3 benches/published/tutorials.py [FOLDER]        # default: the shared tutorial logs

A printed latency has no name, so the best time of each task is matched with one that is printed, as three digits; of several logs
that one counts which has the most. What has no match was tuned in another run than that which is printed.
"""

import pathlib
import sys
import tempfile
from collections import Counter

from asked import SHARED, ingested, rows

# The samples of output in the tutorials, in ms, task by task.
PUBLISHED = {
    "resnet-50-NHWC-B1-llvm": """
        0.010 0.087 0.008 0.177 0.268 0.166 0.170 0.128 0.189 0.231 0.155 0.155 0.119 0.199 0.235 0.149 0.155 0.151
        0.176 0.220 0.150 0.159 0.073 0.031 0.251 0.157 0.215 0.237 0.266""",
    "resnet-18-NHWC-B1-cuda": """
        0.005 0.010 0.006 0.145 0.130 0.143 0.076 0.115 0.079 0.122 0.063 0.072 0.062 0.068 0.049 0.076 0.067 0.076
        0.022 0.076 0.013 0.011 0.013 0.020""",
}

SQL = """
SELECT round(min(runtime_ns) / 1e6, 3) AS ms FROM records WHERE status = 'ok' GROUP BY graph_id, environment_id ORDER BY ms
"""


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "data/tenset/tutorial-logs"
    for name, printed in PUBLISHED.items():
        printed = Counter(f"{float(ms):.3f}" for ms in printed.split())
        best = None
        for log in sorted(folder.glob(f"{name}*.json")):
            with tempfile.TemporaryDirectory() as store:
                ingested(store, log, platform="tutorial")
                ours = Counter(f"{float(row['ms']):.3f}" for row in rows(SQL, store))
            found = (printed & ours).total(), log.name, ours
            best = max(best or found, found, key=lambda one: one[0])
        if best is None:
            raise SystemExit(f"no {name}*.json in {folder}")
        count, log, ours = best
        print(f"{name}: {count} of {printed.total()} printed latencies are in {log}, which has {ours.total()} tasks")
        print(f"  printed only: {' '.join(sorted((printed - ours).elements())) or 'none'}")
        print(f"  here only:    {' '.join(sorted((ours - printed).elements())) or 'none'}")


if __name__ == "__main__":
    main()
