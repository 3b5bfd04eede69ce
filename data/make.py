#!/usr/bin/env python3
"""Makes the small tuning dataset of this folder: real timings of generated C kernels.

For each workload (matmul, convolution, softmax, transpose) it draws programs from a space of tile
sizes, unrolling, vectorising, threads and places of computation. A program is a list of transform
steps in the words of TVM's auto_scheduler; the C code is generated from the loops that the steps
leave, so that a log line says what was run. Each is compiled with `cc`, checked against the program
without steps, timed with one and with two threads, and written as TVM v0.6 writes its logs.

    python3 data/make.py                     all of it, about six minutes
    python3 data/make.py --out /tmp/try      somewhere else
    python3 data/make.py --show matmul 3     the C code of a program, nothing is timed

Needs Python 3.9 or newer, a GCC as `cc`, and x86-64-v3. It leaves alone what TVM has and these
kernels do not need (rfactor, cache reads, storage alignment).
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import time

TARGET = "c -keys=cpu -march=x86-64-v3"
CC = ["cc", "-std=gnu11", "-w", "-O2", "-march=x86-64-v3", "-fno-tree-vectorize", "-fopenmp"]
VECTOR_BYTES = 32
CACHE_LINE_BYTES = 64
# Platform: threads and repeats.
PLATFORMS = {"epyc-1t": (1, 3), "epyc-2t": (2, 5)}
# A repeat is the mean of so many calls that it lasts at least this long.
MIN_REPEAT_S = 0.002
BUILD_LIMIT_S = 15.0
# Of all calls of a program together; the slowest sensible program takes a twentieth of it.
RUN_LIMIT_S = 1.0
# Programs of a workload; the first ones are measured again at the end.
PROGRAMS, AGAIN = 46, 2
# TVM's MeasureErrorNo.
OK, COMPILE_HOST, RUNTIME, WRONG_ANSWER, BUILD_TIMEOUT, RUN_TIMEOUT = 0, 2, 4, 5, 6, 7
UNROLL, VECTORIZE, PARALLEL = 1, 2, 3  # TVM's IteratorAnnotation


# -- Stages and loops ------------------------------------------------------------------------------


class Loop:
    """One iterator of a stage: `stride * loop` is its share of the axis's index."""

    def __init__(self, name, axis, extent, stride=1, parts=()):
        self.name, self.axis, self.extent, self.stride = name, axis, extent, stride
        self.length = extent  # as split; `extent` is less where only a region is computed
        self.parts, self.annotation = parts, 0

    def leaves(self):
        return self.parts or (self,)


class Stage:
    """A tensor and how it is computed. `body(code, *axes)` gives the C expression of an element."""

    def __init__(self, name, shape, body=None, reduce=(), start="0.0f", combine="{} + {}"):
        self.name, self.shape, self.body = name, list(shape), body
        self.reduce, self.start, self.combine = list(reduce), start, combine
        extents = self.shape + self.reduce
        self.loops = [Loop(f"{name}_{axis}", axis, extent) for axis, extent in enumerate(extents)]
        self.place = None  # "inline", or the stage and loop that it is computed at
        self.unroll_steps = 0
        self.base, self.outer, self.region = {}, set(), self.shape

    def is_reduction(self, loop):
        return any(leaf.axis >= len(self.shape) for leaf in loop.leaves())

    def leaves(self):
        return [leaf for loop in self.loops for leaf in loop.leaves()]

    def index(self):
        """Each axis as a sum of loops: {loop name: stride}; "" is the constant."""
        axes = [dict(self.base.get(axis, {})) for axis in range(len(self.shape + self.reduce))]
        for leaf in self.leaves():
            axes[leaf.axis][leaf.name] = leaf.stride
        return axes


class Schedule:
    """Stages as the steps leave them. Methods are named by TVM's steps and record them."""

    def __init__(self, stages, needs):
        self.stages, self.needs = stages, needs
        self.steps, self.lengths = [], {}

    def __getitem__(self, name):
        return next(stage for stage in self.stages if stage.name == name)

    def _step(self, kind, stage, *arguments):
        self.steps.append([kind, self.stages.index(stage), *arguments])
        return len(self.steps) - 1

    def _split(self, stage, loop, lengths):
        at, parts, inner = stage.loops.index(loop), [], math.prod(lengths)
        for number, length in enumerate([loop.extent // inner, *lengths]):
            parts.append(Loop(f"{loop.name}_{number}", loop.axis, length, loop.stride * inner))
            inner //= lengths[number] if number < len(lengths) else 1
        stage.loops[at : at + 1] = parts
        return parts

    def split(self, stage, loop, lengths):
        step = self._step("SP", stage, stage.loops.index(loop), loop.extent, lengths, 1)
        self.lengths[step] = lengths
        return self._split(stage, loop, lengths), step

    def follow_split(self, stage, loop, source, count):
        lengths = self.lengths[source]
        self._step("FSP", stage, stage.loops.index(loop), source, count)
        return self._split(stage, loop, lengths[: count - 1] + [math.prod(lengths[count - 1 :])])

    def reorder(self, stage, order):
        self._step("RE", stage, [stage.loops.index(loop) for loop in order])
        stage.loops = list(order)

    def fuse(self, stage, loops):
        at = stage.loops.index(loops[0])
        self._step("FU", stage, list(range(at, at + len(loops))))
        parts = [leaf for loop in loops for leaf in loop.leaves()]
        extent = math.prod(part.extent for part in parts)
        fused = Loop(f"{loops[0].name}_fused", None, extent, parts=tuple(parts))
        stage.loops[at : at + len(loops)] = [fused]
        for other in self.stages:
            if isinstance(other.place, tuple) and other.place[1] in loops:
                other.place = (stage, fused)
        return fused

    def annotate(self, stage, loop, annotation):
        self._step("AN", stage, stage.loops.index(loop), annotation)
        loop.annotation = annotation

    def pragma(self, stage, steps):
        self._step("PR", stage, 0, f"auto_unroll_max_step${steps}")
        stage.unroll_steps = steps

    def compute_at(self, stage, target, loop):
        self._step("CA", stage, self.stages.index(target), target.loops.index(loop))
        stage.place = (target, loop)

    def compute_inline(self, stage):
        self._step("CI", stage)
        stage.place = "inline"

    def compute_root(self, stage):
        self._step("CR", stage)

    def cache_write(self, stage):
        """Gives a new stage that computes what `stage` only copies from now on."""
        self._step("CHW", stage, "local")
        name = f"{stage.name}_local"
        cache = Stage(name, stage.shape, stage.body, stage.reduce, stage.start, stage.combine)
        self.stages.insert(self.stages.index(stage), cache)
        stage.reduce, stage.body = [], lambda code, *axes: code.at(name, *axes)
        stage.loops = stage.loops[: len(stage.shape)]
        self.needs[name, stage.name] = lambda *axes: axes
        return cache


# -- C code ----------------------------------------------------------------------------------------


def add(axis, more):
    """The sum of two indices."""
    more = {"": more} if isinstance(more, int) else more
    return {name: axis.get(name, 0) + more.get(name, 0) for name in {**axis, **more}}


def text(axis):
    terms = [f"{name} * {stride}" if name else str(stride) for name, stride in axis.items()]
    return " + ".join(terms) or "0"


class Code:
    """The C function of a schedule."""

    def __init__(self, schedule):
        self.schedule, self.scope, self.lane, self.lanes = schedule, [], None, set()

    def function(self, name):
        inputs = [stage.name for stage in self.schedule.stages if not stage.body]
        output = self.schedule.stages[-1].name
        parameters = [f"const float *restrict {name}" for name in inputs]
        lines = [f"static void {name}({', '.join(parameters)}, float *restrict {output}) {{"]
        roots = [stage for stage in self.schedule.stages if stage.body and not stage.place]
        lines += [f"static float {s.name}[{math.prod(s.shape)}];" for s in roots[:-1]]
        for stage in roots:
            lines += self.nest(stage, 0, "all", 0)[0]
        return "\n".join(lines + ["}"])

    def attached(self, stage, target, unroll_steps):
        """Code of `stage` for the region that the loops of `target` below this place need."""
        extents = {leaf.name: leaf.extent for leaf in target.leaves()}
        needed = self.schedule.needs[stage.name, target.name](*target.index())
        stage.outer, stage.base, stage.region = set(self.scope), {}, list(stage.shape)
        for number, axis in enumerate(needed):
            if axis is None:  # all of it
                continue
            inner = {name: stride for name, stride in axis.items() if name in extents}
            inner = {name: stride for name, stride in inner.items() if name not in stage.outer}
            stage.region[number] = 1 + sum((extents[n] - 1) * stride for n, stride in inner.items())
            stage.base[number] = {n: stride for n, stride in axis.items() if n not in inner}
            rest = stage.region[number]
            for leaf in reversed([leaf for leaf in stage.leaves() if leaf.axis == number]):
                leaf.extent, rest = min(leaf.length, rest), -(-rest // leaf.length)
        lines, steps = self.nest(stage, 0, "all", unroll_steps)
        return [f"float {stage.name}[{math.prod(stage.region)}];", *lines], steps

    def nest(self, stage, depth, part, unroll_steps):
        """Lines of the loops from `depth` on; statements once unrolled, None if a loop remains."""
        unroll_steps = max(unroll_steps, stage.unroll_steps)
        if depth == len(stage.loops):
            return [self.statement(stage, part)], 1
        loop = stage.loops[depth]
        if stage.is_reduction(loop) and part == "all":
            start = self.nest(stage, depth, "start", unroll_steps)
            update = self.nest(stage, depth, "update", unroll_steps)
            return start[0] + update[0], start[1] and update[1] and start[1] + update[1]
        if stage.is_reduction(loop) and part == "start":
            return self.nest(stage, depth + 1, part, unroll_steps)
        if loop.annotation == VECTORIZE and loop.extent > 1:
            assert loop is stage.loops[-1] and not loop.parts, "only the innermost loop is vector"
            self.lane = loop
            self.lanes.add(loop.extent)
            lines = [self.statement(stage, part)]
            self.lane = None
            return lines, 1
        return self.loop(stage, depth, part, unroll_steps)

    def loop(self, stage, depth, part, unroll_steps):
        loop, known = stage.loops[depth], len(self.scope)
        self.scope += [loop.name, *(leaf.name for leaf in loop.parts)]
        inner, steps = [], 0
        for other in self.schedule.stages if part != "start" else ():
            if other.place == (stage, loop):
                lines, count = self.attached(other, stage, unroll_steps)
                inner, steps = inner + lines, None if None in (steps, count) else steps + count
        lines, count = self.nest(stage, depth + 1, part, unroll_steps)
        inner, steps = inner + lines, None if None in (steps, count) else steps + count
        del self.scope[known:]
        rest = loop.extent
        parts = []
        for leaf in loop.parts:
            rest //= leaf.extent
            parts.append(f"const int {leaf.name} = {loop.name} / {rest} % {leaf.extent};")
        if loop.extent == 1:
            return [f"{{ const int {loop.name} = 0;", *parts, *inner, "}"], steps
        head = []
        if loop.annotation == PARALLEL:
            head, steps = ["#pragma omp parallel for schedule(static)"], None
        elif steps and (loop.extent * steps <= unroll_steps or loop.annotation == UNROLL):
            head, steps = [f"#pragma GCC unroll {loop.extent}"], loop.extent * steps
        else:
            steps = None
        name = loop.name
        head.append(f"for (int {name} = 0; {name} < {loop.extent}; {name}++) {{")
        return [*head, *parts, *inner, "}"], steps

    def statement(self, stage, part):
        axes = stage.index()
        target = self.at(stage.name, *axes[: len(stage.shape)], store=True)
        value = self.zero(stage.start) if part == "start" else stage.body(self, *axes)
        if part == "update":
            value = stage.combine.format(target, value)
        return f"{target} = {value};"

    def zero(self, value="0.0f"):
        return f"(VECTOR({self.lane.extent})){{}} + {value}" if self.lane else value

    def call(self, function, value):
        """A C function of a value, lane by lane where it is a vector."""
        if not self.lane:
            return f"{function}({value})"
        lanes = ", ".join(f"{function}(lanes[{lane}])" for lane in range(self.lane.extent))
        vector = f"VECTOR({self.lane.extent})"
        return f"({{ {vector} lanes = {value}; ({vector}){{{lanes}}}; }})"

    def at(self, name, *axes, store=False):
        """An element; inside of a vector loop as many as it has lanes, unless all are the same."""
        stage = self.schedule[name]
        if stage.place == "inline":
            return stage.body(self, *axes)
        index, stride = {}, 1
        for number, axis in reversed(list(enumerate(axes))):
            outer = {"", *stage.outer} if number in stage.base else ()
            for loop, factor in axis.items():
                if loop not in outer:
                    index[loop] = index.get(loop, 0) + factor * stride
            stride *= stage.region[number]
        step = self.lane and index.pop(self.lane.name, 0)
        if not step:
            return f"{name}[{text(index)}]"
        lanes = self.lane.extent
        if step == 1:
            return f"(*({'' if store else 'const '}VECTOR({lanes}) *)&{name}[{text(index)}])"
        assert not store, "vector loops run along the last axis of what they compute"
        each = ", ".join(f"{name}[{text(add(index, lane * step))}]" for lane in range(lanes))
        return f"(VECTOR({lanes})){{{each}}}"


# -- Workloads -------------------------------------------------------------------------------------


def factors(draw, extent, count, inner=()):
    """`count` factors of `extent`, the last one from `inner` where that is given."""
    lengths = []
    for number in range(count):
        divisors = [n for n in range(1, extent + 1) if extent % n == 0 and n <= 64]
        if inner and number == 0:
            divisors = [n for n in inner if extent % n == 0]
        lengths.append(draw.choice(divisors))
        extent //= lengths[-1]
    return lengths[::-1]


def lanes(draw):
    """Innermost lengths: mostly what vectors have, now and then what no compiler takes."""
    return draw.choice([(4, 8, 16, 32), (8, 16), (1, 2, 4), (8, 16, 32, 64), (16, 32), (3, 6, 12, 24, 48, 8)])


def tile(schedule, draw, stage):
    """Ansor's multi-level tiling, S S R S R S; with a cache stage the output follows two levels."""
    output, cache = stage, None
    if draw.random() < 0.5:
        stage = cache = schedule.cache_write(stage)
    inner, splits, sources = lanes(draw), [], []
    for loop in list(stage.loops):
        last = loop.axis == len(stage.shape) - 1
        if stage.is_reduction(loop):
            lengths = factors(draw, loop.extent, 1)
        else:
            lengths = factors(draw, loop.extent, 3, inner if last else (1, 2, 4))
        parts, step = schedule.split(stage, loop, lengths)
        splits.append(parts)
        sources.append(step)
    space, reduction = splits[: len(stage.shape)], splits[len(stage.shape) :]
    levels = [*zip(*space)], [*zip(*reduction)]
    order = [levels[0][0], levels[0][1], levels[1][0], levels[0][2], levels[1][1], levels[0][3]]
    schedule.reorder(stage, [loop for level in order for loop in level])
    outer = space
    if cache:
        count = draw.choice([1, 2])
        outer = [
            schedule.follow_split(output, loop, source, count)
            for loop, source in zip(list(output.loops), sources)
        ]
        schedule.reorder(output, [loop for level in zip(*outer) for loop in level])
        place = output.loops[count * len(output.shape) - 1]
        schedule.compute_at(cache, output, place)
    return stage, output


def threads(schedule, draw, stage, limit):
    """Fuses outer loops and runs them on all threads, or leaves the stage to one."""
    count = draw.choice([0, 1, len(stage.shape), min(limit, 2 * len(stage.shape))])
    if count == 0:
        return
    loop = stage.loops[0] if count == 1 else schedule.fuse(stage, stage.loops[:count])
    schedule.annotate(stage, loop, PARALLEL)


def finish(schedule, draw, stage, output):
    """Unrolling and vectors."""
    schedule.pragma(stage, draw.choice([0, 16, 64, 512]))
    for each in dict.fromkeys([stage, output]):
        if draw.random() < 0.8:
            schedule.annotate(each, each.loops[-1], VECTORIZE)


def matmul(n, l, m, _dtype):
    """C[n, m] = A[n, l] B[l, m]."""
    body = lambda code, i, j, k: f"{code.at('A', i, k)} * {code.at('B', k, j)}"
    return Schedule([Stage("A", [n, l]), Stage("B", [l, m]), Stage("C", [n, m], body, [l])], {})


def tile_matmul(schedule, draw):
    stage, output = tile(schedule, draw, schedule["C"])
    threads(schedule, draw, output, 4 if stage is output else stage_depth(stage))
    finish(schedule, draw, stage, output)


def stage_depth(stage):
    """How many loops of its target a stage is computed below."""
    target, loop = stage.place
    return target.loops.index(loop) + 1


def conv2d(n, h, w, co, ci, kh, kw, _stride, padding):
    """NHWC, weights HWIO, stride 1."""
    top, left = padding

    def pad(code, b, y, x, c):
        inside = f"{text(y)} >= {top} && {text(y)} < {h + top} && {text(x)} >= {left} && {text(x)} < {w + left}"
        return f"({inside} ? {code.at('data', b, add(y, -top), add(x, -left), c)} : {code.zero()})"

    def conv(code, b, y, x, f, ry, rx, rc):
        return f"{code.at('pad', b, add(y, ry), add(x, rx), rc)} * {code.at('weight', ry, rx, rc, f)}"

    stages = [
        Stage("data", [n, h, w, ci]),
        Stage("pad", [n, h + 2 * top, w + 2 * left, ci], pad),
        Stage("weight", [kh, kw, ci, co]),
        Stage("conv", [n, h, w, co], conv, [kh, kw, ci]),
    ]
    window = lambda b, y, x, f, ry, rx, rc: (b, add(y, ry), add(x, rx), rc)
    return Schedule(stages, {("pad", "conv"): window, ("pad", "conv_local"): window})


def tile_conv2d(schedule, draw):
    stage, output = tile(schedule, draw, schedule["conv"])
    pad, place = schedule["pad"], draw.choice(["inline", "root", 4, 8, 11])
    if place == "inline":
        schedule.compute_inline(pad)
    elif place == "root":
        schedule.compute_root(pad)
    else:
        schedule.compute_at(pad, stage, stage.loops[place - 1])
    threads(schedule, draw, output, 4 if stage is output else stage_depth(stage))
    if place == "root" and draw.random() < 0.7:
        threads(schedule, draw, pad, 3)
    finish(schedule, draw, stage, output)
    if place != "inline" and draw.random() < 0.7:
        schedule.annotate(pad, pad.loops[-1], VECTORIZE)


def softmax(rows, columns, _dtype):
    """Of each row, as topi computes it: maximum, exponentials, their sum, quotient."""
    stages = [
        Stage("data", [rows, columns]),
        Stage("maxelem", [rows], lambda code, i, k: code.at("data", i, k), [columns], "-INFINITY",
              "{0} > {1} ? {0} : {1}"),
        Stage("exp", [rows, columns], lambda code, i, j: code.call(
            "expf", f"{code.at('data', i, j)} - {code.at('maxelem', i)}")),
        Stage("expsum", [rows], lambda code, i, k: code.at("exp", i, k), [columns]),
        Stage("norm", [rows, columns], lambda code, i, j: f"{code.at('exp', i, j)} / {code.at('expsum', i)}"),
    ]
    row = lambda i, j: (i,)
    needs = {("maxelem", "norm"): row, ("exp", "norm"): lambda i, j: (i, None), ("expsum", "norm"): row}
    return Schedule(stages, needs)


def tile_softmax(schedule, draw):
    norm, exp = schedule["norm"], schedule["exp"]
    maxelem, expsum = schedule["maxelem"], schedule["expsum"]
    for stage in maxelem, expsum:
        schedule.split(stage, stage.loops[1], factors(draw, stage.loops[1].extent, 1))
    schedule.split(norm, norm.loops[0], factors(draw, norm.shape[0], 1))
    schedule.split(norm, norm.loops[2], factors(draw, norm.shape[1], 1, lanes(draw)))
    place = norm.loops[draw.choice([0, 1])]
    # Who is computed where: what reads a stage must come later than the stage.
    fused = draw.choice([[], [expsum], [expsum, exp], [expsum, exp, maxelem]])
    inline = exp not in fused[:2] and draw.random() < 0.5
    for stage in fused:
        schedule.compute_at(stage, norm, place)
    if inline:
        schedule.compute_inline(exp)
    depth = norm.loops.index(place) + 1 if fused else 2
    threads(schedule, draw, norm, depth)
    for stage in maxelem, exp, expsum:
        if not stage.place and draw.random() < 0.7:
            schedule.annotate(stage, stage.loops[0], PARALLEL)
    for stage in [maxelem, expsum]:
        schedule.pragma(stage, draw.choice([0, 16, 64]))
    if draw.random() < 0.8:
        schedule.annotate(norm, norm.loops[-1], VECTORIZE)


def transpose(rows, columns, _dtype):
    body = lambda code, i, j: code.at("A", j, i)
    return Schedule([Stage("A", [rows, columns]), Stage("T", [columns, rows], body)], {})


def tile_transpose(schedule, draw):
    stage = schedule["T"]
    wide = draw.random() < 0.6
    i, _ = schedule.split(stage, stage.loops[0], factors(draw, stage.shape[0], 2))
    j, _ = schedule.split(stage, stage.loops[3], factors(draw, stage.shape[1], 2, lanes(draw)))
    inner = [i[2], j[2]] if wide else [j[2], i[2]]
    schedule.reorder(stage, [i[0], j[0], i[1], j[1], *inner])
    threads(schedule, draw, stage, 4)
    schedule.pragma(stage, draw.choice([0, 16, 64, 512]))
    if wide and draw.random() < 0.7:
        schedule.annotate(stage, stage.loops[-1], VECTORIZE)
