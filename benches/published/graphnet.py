#!/usr/bin/env python3
"""GraphNet's tables 3 to 6: S(t) and ES(t) from the aggregated numbers that the paper prints beside them.

    cargo build --release
    python3 benches/published/graphnet.py [TABLES.csv]     # default: the shared ones

The file has the columns table, workload, t, alpha, beta, lambda, eta, S, gamma, ES as printed (three digits), `-` where nothing is.
"""

import sys
import tempfile

from asked import SHARED, rows, tsql

# The formula with p = 0 and b = 0.1: S(t) takes the penalty b, ES(t) gamma (GraphNet paper, appendices B and C).
SQL = """
WITH printed AS (
  SELECT "table", workload, t, TRY_CAST("S" AS DOUBLE) AS s, "ES" AS es,
    macro_speedup_score(alpha, beta, lambda, eta, 0.0, 0.1) AS our_s,
    macro_speedup_score(alpha, beta, lambda, eta, 0.0, gamma) AS our_es
  FROM '{path}'
)
SELECT "table", workload, count(*) AS levels, count(s) AS s_printed,
  max(abs(our_s - s)) AS s_differs, count(es) AS es_printed, max(abs(our_es - es)) AS es_differs
FROM printed GROUP BY "table", workload ORDER BY "table", workload
"""


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else SHARED / "golden/graphnet/paper_tables_3_6.csv"
    with tempfile.TemporaryDirectory() as folder:
        tsql("init", folder=folder)
        print("table  workload             levels  S differs at most  ES differs at most")
        for row in rows(SQL.format(path=path), folder):
            print(
                f"{row['table']:>5}  {row['workload']:<20} {row['levels']:>6}"
                f"  {float(row['s_differs']):17.4f}  {float(row['es_differs']):18.4f}"
            )
    print("(numbers are printed with three digits)")


if __name__ == "__main__":
    main()
