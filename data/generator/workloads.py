"""What is computed, and the random programs for it. The space is Ansor's for CPUs, made small."""

import json
import random

from generator.emit import add, text
from generator.schedule import PARALLEL, UNROLL, VECTORIZE, Schedule, Stage

# Programs of a workload; the first ones are measured again at the end.
PROGRAMS, AGAIN = 46, 2


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
    usual = [(4, 8, 16, 32), (8, 16), (1, 2, 4), (8, 16, 32, 64), (16, 32)]
    return draw.choice([*usual, (3, 6, 8, 12, 24, 48)])


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
    count = draw.choice([0, 1, min(limit, len(stage.shape)), limit])
    if count == 0:
        return
    loop = stage.loops[0] if count == 1 else schedule.fuse(stage, stage.loops[:count])
    schedule.annotate(stage, loop, PARALLEL)


def finish(schedule, draw, stage, output):
    """Unrolling and vectors."""
    schedule.pragma(stage, draw.choice([0, 16, 64, 512]))
    reduction = [loop for loop in stage.loops if stage.is_reduction(loop)][-1]
    if 1 < reduction.extent <= 8 and draw.random() < 0.3:
        schedule.annotate(stage, reduction, UNROLL)
    for each in dict.fromkeys([stage, output]):
        length = each.loops[-1].extent
        rare = length & (length - 1)  # no power of two: GCC has no such vectors
        if draw.random() < (0.3 if rare else 0.8):
            schedule.annotate(each, each.loops[-1], VECTORIZE)


def matmul(n, l, m, _dtype):
    """C[n, m] = A[n, l] B[l, m]."""

    def body(code, i, j, k):
        return f"{code.at('A', i, k)} * {code.at('B', k, j)}"

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
        y, x = add(y, -top), add(x, -left)
        inside = [f"{text(i)} >= 0 && {text(i)} < {extent}" for i, extent in ((y, h), (x, w))]
        return code.where(" && ".join(inside), "data", b, y, x, c)

    def conv(code, b, y, x, f, ry, rx, rc):
        padded = code.at("pad", b, add(y, ry), add(x, rx), rc)
        return f"{padded} * {code.at('weight', ry, rx, rc, f)}"

    def window(b, y, x, _f, ry, rx, rc):
        return b, add(y, ry), add(x, rx), rc

    stages = [
        Stage("data", [n, h, w, ci]),
        Stage("pad", [n, h + 2 * top, w + 2 * left, ci], pad),
        Stage("weight", [kh, kw, ci, co]),
        Stage("conv", [n, h, w, co], conv, [kh, kw, ci]),
    ]
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

    def largest(code, i, k):
        return code.at("data", i, k)

    def exp(code, i, j):
        return code.call("expf", f"{code.at('data', i, j)} - {code.at('maxelem', i)}")

    def total(code, i, k):
        return code.at("exp", i, k)

    def norm(code, i, j):
        return f"{code.at('exp', i, j)} / {code.at('expsum', i)}"

    stages = [
        Stage("data", [rows, columns]),
        Stage("maxelem", [rows], largest, [columns], "-INFINITY", "{0} > {1} ? {0} : {1}"),
        Stage("exp", [rows, columns], exp),
        Stage("expsum", [rows], total, [columns]),
        Stage("norm", [rows, columns], norm),
    ]
    needs = {
        ("maxelem", "norm"): lambda i, j: (i,),
        ("exp", "norm"): lambda i, j: (i, None),
        ("expsum", "norm"): lambda i, j: (i,),
    }
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
    inline = exp not in fused and draw.random() < 0.5
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
    """T[j, i] = A[i, j]."""

    def body(code, i, j):
        return code.at("A", j, i)

    return Schedule([Stage("A", [rows, columns]), Stage("T", [columns, rows], body)], {})


def tile_transpose(schedule, draw):
    stage = schedule["T"]
    wide = draw.random() < 0.6
    i, _ = schedule.split(stage, stage.loops[0], factors(draw, stage.shape[0], 2))
    j, _ = schedule.split(stage, stage.loops[3], factors(draw, stage.shape[1], 2, lanes(draw)))
    inner = [i[2], j[2]] if wide else [j[2], i[2]]
    schedule.reorder(stage, [i[0], j[0], i[1], j[1], *inner])
    threads(schedule, draw, stage, 4)
    schedule.pragma(stage, draw.choice([0, 16, 64]))
    if wide and draw.random() < 0.7:
        schedule.annotate(stage, stage.loops[-1], VECTORIZE)


def tile_forks(schedule, _draw):
    """A bad idea that a search may well have: threads for an innermost loop of two iterations."""
    stage = schedule["C"]
    i, _ = schedule.split(stage, stage.loops[0], [1, 1, 1])
    j, _ = schedule.split(stage, stage.loops[4], [1, 1, 2])
    k, _ = schedule.split(stage, stage.loops[8], [1])
    schedule.reorder(stage, [i[0], j[0], i[1], j[1], k[0], i[2], j[2], k[1], i[3], j[3]])
    schedule.pragma(stage, 0)
    schedule.annotate(stage, j[3], PARALLEL)


# Key, tensors, a random program, programs with a place of their own.
WORKLOADS = [
    (["matmul", 128, 128, 128, "float32"], matmul, tile_matmul, {20: tile_forks}),
    (["matmul", 256, 96, 192, "float32"], matmul, tile_matmul, {}),
    (["conv2d_nhwc", 1, 28, 28, 16, 8, 3, 3, 1, [1, 1]], conv2d, tile_conv2d, {}),
    (["softmax", 256, 480, "float32"], softmax, tile_softmax, {}),
    (["transpose", 512, 384, "float32"], transpose, tile_transpose, {}),
]


def programs(key, tensors, tile_random, special):
    """The distinct programs of a workload, in the order of measuring."""
    draw, found = random.Random(json.dumps(key)), {}
    while len(found) < PROGRAMS:
        schedule = tensors(*key[1:])
        special.get(len(found), tile_random)(schedule, draw)
        found.setdefault(json.dumps(schedule.steps), schedule)
    found = list(found.values())
    return found + found[:AGAIN]
