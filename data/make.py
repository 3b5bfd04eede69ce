#!/usr/bin/env python3
"""Makes the small tuning dataset of this folder: real timings of generated C kernels.

For each workload (matmul, convolution, softmax, transpose) it draws programs from a space of tile
sizes, unrolling, vectorising, threads and places of computation. A program is a list of transform
steps in the words of TVM's auto_scheduler; the C code is generated from the loops that the steps
leave, so that a log line says what was run. Each is compiled with `cc`, checked against the program
without steps, timed with one and with two threads, and written as TVM v0.6 writes its logs.

    python3 data/make.py                             all of it, about two minutes
    python3 data/make.py --out /tmp/try              somewhere else
    python3 data/make.py --only softmax --show 3     the C code of a program, nothing is timed

Needs Python 3.9 or newer, a GCC as `cc`, and x86-64-v3. It leaves alone what TVM has and these
kernels do not need (rfactor, cache reads, storage alignment).
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # this folder is data

from generator.emit import Code  # noqa: E402
from generator.workloads import WORKLOADS, programs  # noqa: E402

TARGET = "c -keys=cpu -march=x86-64-v3"
CC = ["cc", "-std=gnu11", "-w", "-O2", "-march=x86-64-v3", "-fno-tree-vectorize", "-fopenmp"]
VECTOR_BYTES = 32
CACHE_LINE_BYTES = 64
# Platform: threads and repeats.
PLATFORMS = {"epyc-1t": (1, 3), "epyc-2t": (2, 5)}
# A repeat is the mean of so many calls that it lasts at least this long.
MIN_REPEAT_S = 0.002
BUILD_LIMIT_S = 10.0
# Of all calls of a program together.
RUN_LIMIT_S = 1.0
# TVM's MeasureErrorNo.
OK, COMPILE_HOST, RUNTIME, WRONG_ANSWER, BUILD_TIMEOUT, RUN_TIMEOUT = 0, 2, 4, 5, 6, 7

# Checks and times one program; its tensors and functions stand above it.
HARNESS = """
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double timed(long number) {
    double start = now();
    for (long call = 0; call < number; call++) kernel(ARGUMENTS, out);
    return now() - start;
}

int main(int count, char **words) {
    int repeat = atoi(words[1]);
    double least = atof(words[2]);
    unsigned seed = 1;
    for (int i = 0; i < INPUTS; i++) {
        in[i] = aligned_alloc(64, (sizes[i] * sizeof(float) + 63) / 64 * 64);
        for (long n = 0; n < sizes[i]; n++)
            in[i][n] = (seed = seed * 1664525u + 1013904223u) / 2147483648.0f - 1.0f;
    }
    out = aligned_alloc(64, sizes[INPUTS] * sizeof(float));
    float *expected = aligned_alloc(64, sizes[INPUTS] * sizeof(float));
    memset(out, 0xff, sizes[INPUTS] * sizeof(float));
    reference(ARGUMENTS, expected);
    kernel(ARGUMENTS, out); /* warms up */
    for (long n = 0; n < sizes[INPUTS]; n++)
        if (!(fabsf(out[n] - expected[n]) <= 1e-4f * (1.0f + fabsf(expected[n])))) return 5;
    long number = 1;
    for (double took; (took = timed(number)) < least;)
        number = fmax(least / (took / number) + 1, 1.618 * number);
    for (double start = now(); now() - start < 10 * least;) timed(number);
    double cost[16], noise = 1;
    for (int try = 0; try < 4 && noise > 0.1; try++) {
        double mean = 0, square = 0;
        for (int i = 0; i < repeat; i++) mean += (cost[i] = timed(number) / number) / repeat;
        for (int i = 0; i < repeat; i++) square += (cost[i] - mean) * (cost[i] - mean) / repeat;
        noise = sqrt(square) / mean;
    }
    for (int i = 0; i < repeat; i++) printf("%.9g\\n", cost[i]);
    return 0;
}
"""


def source(schedule, key, tensors):
    """The C program that checks and times a schedule."""
    code, plain = Code(schedule), Code(tensors(*key[1:]))
    kernel, reference = code.function("kernel"), plain.function("reference")
    inputs = [stage for stage in schedule.stages if not stage.body]
    sizes = [math.prod(stage.shape) for stage in [*inputs, schedule.stages[-1]]]
    attribute = "__attribute__((vector_size({}), aligned(4), may_alias))"
    return "\n".join([
        *(f"#include <{header}.h>" for header in ("math", "stdio", "stdlib", "string", "time")),
        *(f"typedef float v{n} {attribute.format(4 * n)};" for n in sorted(code.lanes)),
        kernel,
        reference,
        f"enum {{ INPUTS = {len(inputs)} }};",
        f"static const long sizes[] = {{{', '.join(map(str, sizes))}}};",
        "static float *in[INPUTS], *out;",
        f"#define ARGUMENTS {', '.join(f'in[{n}]' for n in range(len(inputs)))}",
        HARNESS,
    ])


def undisturbed():
    """Before other processes, where the system lets us: only the timed program, not its build."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    except OSError:
        pass


def build(text, folder):
    """Compiles a C program: its path, MeasureErrorNo, wall time."""
    start, program = time.monotonic(), folder / "program"
    (folder / "program.c").write_text(text)
    command, error = [*CC, "-o", program, folder / "program.c", "-lm"], OK
    try:
        built = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=BUILD_LIMIT_S)
        error = COMPILE_HOST if built.returncode else OK
    except subprocess.TimeoutExpired:
        error = BUILD_TIMEOUT
    return program, error, time.monotonic() - start


def run(program, threads, repeats):
    """Costs in seconds, MeasureErrorNo, wall time."""
    command = [program, str(repeats), str(MIN_REPEAT_S)]
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    start, costs, error = time.monotonic(), [], OK
    try:
        ran = subprocess.run(
            command,
            env=settings,
            capture_output=True,
            timeout=RUN_LIMIT_S,
            preexec_fn=undisturbed,
        )
        costs = [float(cost) for cost in ran.stdout.split()]
        if ran.returncode:
            error = WRONG_ANSWER if ran.returncode == WRONG_ANSWER else RUNTIME
    except subprocess.TimeoutExpired:
        error = RUN_TIMEOUT
    return costs, error, time.monotonic() - start


def number(value):
    """As C++ prints a double: six significant digits."""
    return f"{value:.6g}"


def line(key, steps, threads, costs, error, took):
    """A line as TVM's measure_record.cc writes it, v0.6."""
    hardware = [threads, VECTOR_BYTES, CACHE_LINE_BYTES, 0, 0, 0, 0, 0]
    task = [json.dumps(key), TARGET, hardware, "", 0, []]
    costs = ", ".join(map(number, costs or [1e10]))
    result = f"[[{costs}], {error}, {number(took)}, {int(time.time())}]"
    program = f"[[], {json.dumps(steps)}]"
    return f'{{"i": [{json.dumps(task)}, {program}], "r": {result}, "v": "v0.6"}}'


def file_name(key):
    sizes = [size for size in key[1:] if isinstance(size, int)]
    return f"{key[0]}-{'x'.join(map(str, sizes))}.json"


def write(folder, key, platform, lines):
    """Real logs are not all alike: one has comments at its top, one lost its last line feed."""
    text = "\n".join(lines) + "\n"
    if (key[0], platform) == ("softmax", "epyc-1t"):
        text = "# Row softmax, one thread. Made by data/make.py.\n# TVM skips such lines.\n" + text
    if (key[0], platform) == ("transpose", "epyc-2t"):
        text = text.rstrip("\n")
    path = folder / platform / file_name(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make(key, schedules, sources, out, scratch):
    """Measures the programs of a workload one after the other, each on all platforms."""
    lines = {platform: [] for platform in PLATFORMS}
    for schedule, text in zip(schedules, sources):
        program, build_error, build_s = build(text, scratch)
        for platform, (threads, repeats) in PLATFORMS.items():
            costs, error, run_s = [], build_error, 0.0
            if not build_error:
                costs, error, run_s = run(program, threads, repeats)
            took = build_s + run_s
            lines[platform].append(line(key, schedule.steps, threads, costs, error, took))
    for platform in PLATFORMS:
        write(out, key, platform, lines[platform])
    print(f"{json.dumps(key)}: {len(schedules)} programs on {len(PLATFORMS)} platforms")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--out", type=pathlib.Path, default=here, help="where the folders go")
    parser.add_argument("--only", default="", help="workloads whose name begins so")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print the code of a program")
    return parser.parse_args()


def main():
    words = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        for key, tensors, tile_random, special in WORKLOADS:
            if not key[0].startswith(words.only):
                continue
            schedules = programs(key, tensors, tile_random, special)
            sources = [source(schedule, key, tensors) for schedule in schedules]
            if words.show is not None:
                print(sources[words.show])
                return
            make(key, schedules, sources, words.out, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
