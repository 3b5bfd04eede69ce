#!/usr/bin/env python3
"""Timings of a known kernel by `tsql measure`, beside a harness written by hand: quiet, and with twice as many busy
processes as cores; and what a measurement costs beside the kernel's own time.

    python3 benches/measure.py WORK [--tsql FILE] [--rounds 12]
    python3 benches/measure.py WORK --rules

The kernel is a matrix product of 256 x 256 floats in plain C. The harness times it in the same way, without any of
the checks, limits and records: short repeats, the least of which on the quiet machine is what the kernel can do. In
each round harness and tsql take turns, and both are compared with that least time.

`--rules` tries rules for which repeats count and when there are enough, on what the harness sees in 20 seconds.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
FLAGS = ["-O3", "-march=native"]

KERNEL = """void matmul(const float *restrict a, const float *restrict b, float *restrict c) {
  for (int i = 0; i < 256; i++) {
    for (int j = 0; j < 256; j++) c[i * 256 + j] = 0;
    for (int k = 0; k < 256; k++) {
      float x = a[i * 256 + k];
      for (int j = 0; j < 256; j++) c[i * 256 + j] += x * b[k * 256 + j];
    }
  }
}
"""

HARNESS = """#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
void matmul(const float *restrict, const float *restrict, float *restrict);
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
  int repeats = argc > 1 ? atoi(argv[1]) : 300;
  int n = 256 * 256;
  float *a = aligned_alloc(4096, 4 * n), *b = aligned_alloc(4096, 4 * n), *c = aligned_alloc(4096, 4 * n);
  for (int i = 0; i < n; i++) { a[i] = rand() / (float)RAND_MAX - .5f; b[i] = rand() / (float)RAND_MAX - .5f; }
  for (int i = 0; i < 30; i++) matmul(a, b, c);
  for (int repeat = 0; repeat < repeats; repeat++) {
    double start = now();
    for (int call = 0; call < 3; call++) matmul(a, b, c);
    printf("%f\\n", (now() - start) / 3);
  }
}
"""

MANIFEST = """[program]
name = "matmul_256"
language = "c"
source = "matmul.c"
entry = "matmul"
flags = {flags}

[[workload]]
params = {{ N = 256 }}
flops = "2*N*N*N"

{arguments}
[space]
TURN = {{ range = [1, {turns}, 1] }}

[check]
reference = {{ source = "matmul.c", entry = "matmul" }}
"""


def argument(name, role):
    init = 'init = "uniform(-0.5, 0.5)"\n' if role == "in" else ""
    return f'[[arg]]\nname = "{name}"\nkind = "buffer"\ndtype = "f32"\nshape = ["N", "N"]\nrole = "{role}"\n{init}\n'


def prepared(work, rounds):
    work.mkdir(parents=True, exist_ok=True)
    (work / "matmul.c").write_text(KERNEL)
    (work / "harness.c").write_text(HARNESS)
    arguments = argument("a", "in") + argument("b", "in") + argument("c", "out")
    manifest = MANIFEST.format(flags=json.dumps(FLAGS), arguments=arguments, turns=rounds)
    (work / "matmul.toml").write_text(manifest)
    # The same object code for both.
    subprocess.run(["cc", *FLAGS, "-fPIC", "-c", "matmul.c", "-o", "kernel.o"], cwd=work, check=True)
    subprocess.run(["cc", "-O2", "harness.c", "kernel.o", "-o", "harness"], cwd=work, check=True)


def harness(work, repeats=300):
    """Nanoseconds of a call, one for each repeat."""
    done = subprocess.run([work / "harness", str(repeats)], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def rule(times, counted, at_most, near):
    """A measurement that begins with the first of the times: the mean of those that count, and how many were taken."""
    for taken in range(counted, at_most + 1):
        least = min(times[:taken])
        good = [time for time in times[:taken] if time <= (1 + near) * least]
        if len(good) >= counted:
            break
    return statistics.mean(good), taken


def rules(work):
    """Prints what several rules make of the same times."""
    times = harness(work, 9000)
    best = min(times)
    print("| repeats that count | at most | longer than the least by | mean above the best: median, 9th decile | within 3 % | repeats taken |")
    print("|---|---|---|---|---|---|")
    for counted, at_most, near in [(50, 200, 9), (50, 200, 0.05), (50, 500, 0.05), (50, 500, 0.03), (50, 1000, 0.03), (100, 500, 0.03)]:
        ends = [rule(times[begin:], counted, at_most, near) for begin in range(0, len(times) - 1000, 80)]
        above = sorted(mean / best - 1 for mean, _ in ends)
        within = sum(one < 0.03 for one in above) / len(above)
        shown = [counted, at_most, f"{near:.0%}" if near < 1 else "any", f"{statistics.median(above):+.1%}, {above[len(above) * 9 // 10]:+.1%}"]
        print("| " + " | ".join(map(str, [*shown, f"{within:.0%}", round(statistics.mean(taken for _, taken in ends))])) + " |")


def spread(times, best):
    """Median, extremes and quartiles, as what they are above the best."""
    above = sorted(time / best - 1 for time in times)
    quarter = len(above) // 4
    return f"{statistics.median(above):+.1%} ({above[0]:+.1%}, {above[quarter]:+.1%}, {above[-1 - quarter]:+.1%}, {above[-1]:+.1%})"


def measured(work, tsql, turn, options):
    """One trial, a process of tsql of its own: seconds for all but the timed calls."""
    text = (work / "matmul.toml").read_text()
    (work / "one.toml").write_text(re.sub(r"TURN = .*", f"TURN = [{turn}]", text))
    command = [tsql, "--store", work / "store", "measure", "run", "one.toml", "--search", "grid", "--json", "--jobs", "1", *options]
    lines = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True).stdout.splitlines()
    event = next(event for event in map(json.loads, lines) if event["event"] == "measured")
    assert event["error_no"] == 0, event
    return event["all_cost_s"] - event["timed_s"]


def ask(work, tsql, sql):
    done = subprocess.run([tsql, "--store", work / "store", sql, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    options.work = options.work.resolve()
    prepared(options.work, options.rounds)
    if options.rules:
        rules(options.work)
        return
    cores = os.cpu_count()
    best, rows = None, []
    for load in (0, 2 * cores):
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(load)]
        try:
            hand, beside = [], []
            for turn in range(1, options.rounds + 1):
                times = harness(options.work)
                hand.append((min(times), statistics.median(times)))
                beside.append(measured(options.work, options.tsql, turn, ["--platform", f"load-{load}"]))
        finally:
            for process in busy:
                process.kill()
        best = best or min(least for least, _ in hand)
        sql = (
            "SELECT runtime_ns, min_ns, repeat_count, coalesce(flags, '') AS flags, all_cost_s, "
            "coalesce(disturbed_repeats, '[]') AS disturbed FROM records "
            f"WHERE platform = 'load-{load}' ORDER BY measured_at"
        )
        records = ask(options.work, options.tsql, sql)[-options.rounds :]
        clean = sum(record["repeat_count"] for record in records)
        disturbed = sum(len(json.loads(record["disturbed"])) for record in records)
        flags = {}
        for record in records:
            for flag in filter(None, record["flags"].split(",")):
                flags[flag] = flags.get(flag, 0) + 1
        told = ", ".join(f"{flag} {count}" for flag, count in sorted(flags.items())) or "none"
        took = statistics.median(record["all_cost_s"] for record in records)
        rows += [
            (load, "harness: least of 300 repeats", spread([least for least, _ in hand], best), ""),
            (load, "tsql: least repeat (min_ns)", spread([record["min_ns"] for record in records], best), ""),
            (load, "harness: median", spread([median for _, median in hand], best), ""),
            (
                load,
                "tsql: mean of the repeats that count (runtime_ns)",
                spread([record["runtime_ns"] for record in records], best),
                f"{clean / (clean + disturbed):.0%} of the repeats count; flags: {told}; {took:.2f} s a measurement, "
                f"{statistics.median(beside):.2f} s of it beside timed calls",
            ),
        ]
    print(f"best of the harness, quiet: {best / 1000:.1f} us; {options.rounds} rounds, {cores} cores\n")
    print("| busy processes | | above that: median (least, quartiles, greatest) | |")
    print("|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
