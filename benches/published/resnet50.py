#!/usr/bin/env python3
"""TenSet (NeurIPS 2021), section 3.2: ResNet-50 has 27 subgraphs.

    cargo build --release
    python3 benches/published/resnet50.py [FOLDER]         # default: the shared network_info
"""

import sys
import tempfile

from asked import SHARED, ingested, rows

PUBLISHED = 27


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else SHARED / "data/tenset/network_info"
    with tempfile.TemporaryDirectory() as store:
        ingested(store, folder)
        found = rows(
            "SELECT target_kind, input_shapes, task_count, weight_sum FROM networks WHERE network = 'resnet_50' ORDER BY ALL",
            store,
        )
    print("ResNet-50       published  here")
    for row in found:
        told = f"{row['target_kind']} {row['input_shapes']}"
        print(f"{told:<24} {PUBLISHED:>9}  {row['task_count']}  (each as often as it occurs: {row['weight_sum']})")


if __name__ == "__main__":
    main()
