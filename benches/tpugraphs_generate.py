#!/usr/bin/env python3
"""Writes a made-up TpuGraphs release: the npz tree, at any scale, always the same for a seed.

    python3 benches/tpugraphs_generate.py OUT                         # everything, as large as released
    python3 benches/tpugraphs_generate.py OUT --scale 0.01 --jobs 2   # a hundredth of the files
    python3 benches/tpugraphs_generate.py OUT --collections tile:xla,layout:xla:random
    python3 benches/tpugraphs_generate.py OUT --member-bytes 2.5e9    # one big layout file, only that
    python3 benches/tpugraphs_generate.py OUT --dry-run               # what it would write, nothing else

Needs numpy. The release is 5.8 GB and inflates to 400 GB, too much to carry about; this stands in
for it where only the amount and the shape of the data matter. `--scale` scales the number of files
and leaves the files as large as they were.

Where the numbers are from. File counts, member order, dtypes, container (zip64 local headers as
numpy writes them, deflate, 1980-01-01) and the (nodes, edges) of the 84 XLA graphs are the
release's own. Means and ranges of the configuration counts, of tile kernels and of repeats are
those of the paper's table (arXiv 2308.13490), cut to 1000 or 1001 configurations in test splits as
released: 47 M rows in all, 450 GB inflated. The rest was measured on nine released layout files
and on tile kernels:
  nodes      from a dictionary of rows (half of a small graph, 2 % of a large one), in blocks that
             repeat per layer; edges point back, mostly a few nodes, some to hubs;
  slots      (configurable nodes) are tied in groups that always get equal vectors, 1 to 9 per
             group: two minor dimensions per tensor for dot and convolution, whole layouts of
             output and input for reshape;
  random     uniform codes per group and 40 runs of the default; one in 14 XLA train files is 20
             runs of the default and nothing else, a few graphs have next to no choice, so repeat much;
  default    a genetic search: an elite is mutated in 1 to 4 groups, or run again as it is;
  runtimes   a product of one factor per group, of which few matter, times noise.
`default` and `random` files of one stem share their core (nodes, edges, slots, groups) bit for bit.

How it was compared: files were loaded with numpy, all dtypes, orders and rules of the format were
asserted on them and on the real ones alike, and these were set side by side (real, then made):
  distinct node rows   0.43 of 490 nodes, 0.17-0.20 of 3000, 0.02 of 22000 and more;  0.41, 0.13-0.20, 0.02-0.05
  slots                7-26 groups, 1-9 vectors each, largest group 12-144;  7-26, 1-9, 18-511
  repeats              xla random 0.19, default 0.39, nlp random 0.0006, default 0.14;  0.18, 0.38, 0.0006, 0.14
  most frequent        40 runs (random), 43-58 (default);  40, 40-87 in three of four files, 248 at most
  deflate ratio        node_config_feat 41-91, 73 over all;  42-206, 60 over all. node_feat 60-69;  32-38
  tile kernels         40 nodes and 1842 configurations in the mean;  40 and 1845

Not as released: programs are made-up names over random graphs (no operation computes anything,
shapes of an operation and its operands are unrelated); tile train and valid files have the local
headers of the other splits.

A file's content depends on the seed and its place in the tree alone, so that parts and any
`--jobs` give equal files (with one version of numpy and of zlib). A file that is there is skipped;
files are written under another name and renamed when complete. node_config_feat is made and
deflated in blocks: memory stays below 150 MB a process.
"""

import argparse
import functools
import hashlib
import itertools
import math
import multiprocessing
import pathlib
import sys
import time
import typing
import zipfile

import numpy as np
from numpy.lib import format as npy

SPLITS = ("train", "valid", "test")
FILES = {  # collection: released files in train, valid, test
    "tile:xla": (5709, 676, 844),
    "layout:xla:random": (69, 7, 8),
    "layout:xla:default": (61, 7, 8),
    "layout:nlp:random": (207, 20, 17),
    "layout:nlp:default": (198, 20, 17),
}
XLA_GRAPHS = (  # (nodes, edges) of the released graphs
    (13502, 22209), (490, 729), (4185, 7209), (6328, 12014), (13342, 21709), (5809, 10345),
    (15642, 25387), (8847, 14797), (17472, 27130), (40332, 71912), (5162, 9160), (15809, 25564),
    (6136, 10670), (19662, 35460), (13867, 22162), (24790, 32709), (7324, 12087), (21196, 37779),
    (5345, 8775), (1111, 1557), (8836, 15567), (5605, 9018), (5162, 9160), (650, 1100),
    (5605, 9018), (21338, 37243), (4748, 8547), (17135, 26568), (15022, 27044), (20665, 36659),
    (12062, 21268), (19348, 30351), (6656, 10799), (12565, 20569), (1111, 1557), (24793, 32713),
    (22385, 39976), (10092, 18102), (1277, 2063), (43615, 73881), (14680, 23604), (1383, 2167),
    (16818, 26250), (5673, 9099), (15022, 27044), (8636, 14661), (10449, 16824), (9257, 15281),
    (2774, 4730), (5689, 9131), (15748, 23128), (5670, 10166), (15809, 25564), (12069, 21320),
    (7324, 12087), (39452, 70171), (5673, 9099), (13867, 22162), (5279, 8694), (25544, 33522),
    (372, 597), (21126, 37368), (7768, 13121), (5358, 9631), (21335, 37236), (26234, 48094),
    (26906, 48823), (19662, 35460), (8836, 15567), (3163, 5112), (5673, 9099), (12067, 21319),
    (6135, 10670), (19541, 30520), (21335, 37236), (21664, 38485), (5279, 8694), (5810, 10345),
    (490, 749), (43615, 73881), (23363, 38984), (24790, 32709), (41522, 72902), (43615, 73881),
)  # fmt: skip
NLP_GRAPHS = {  # (layers, training): how many in a hundred
    (2, 0): 5, (4, 0): 6, (6, 0): 5, (8, 0): 5, (10, 0): 5, (12, 0): 27, (24, 0): 4,
    (2, 1): 4, (4, 1): 6, (6, 1): 6, (8, 1): 4, (10, 1): 4, (12, 1): 18, (24, 1): 1,
}  # fmt: skip
XLA_PROGRAMS = (
    "alexnet_train_batch_32", "bert_classifier", "efficientnet_b7_eval_batch_1", "mask_rcnn_resnet50",
    "inception_v3_batch_128_train", "mlperf_bert_batch_24", "resnet50", "resnet_v1_50_official_batch_128",
    "retinanet", "tf2_bert_pretrain_dynamic_batch_size", "transformer", "unet_3d", "xception_imagenet",
)  # fmt: skip
TOPOLOGIES = ("2x2", "4x4", "8x8", "8x16")

DEFAULT_RUNS = 40
CONFIG_CAP = 100_000 + DEFAULT_RUNS
MEMBER_CAP = 2_620_000_000  # bytes of the largest released node_config_feat
SLOT_BYTES = 18 * 4
BLOCK_BYTES = 1 << 21

# Operations by their share of the nodes, and how many operands they take (1 where not listed).
GET_TUPLE, TUPLE, PARAMETER, CONVOLUTION, DOT, RESHAPE, COPY, FUSION = 45, 100, 63, 26, 34, 75, 27, 41
CONFIGURABLE = (CONVOLUTION, DOT, RESHAPE)
BROADCAST, REDUCE, TRANSPOSE, SLICE, PAD, CONSTANT, WINDOW = 13, 70, 98, 92, 62, 24, 72
SHARES = {
    GET_TUPLE: 15, 59: 14, 2: 13, BROADCAST: 13, PARAMETER: 9, 95: 9, 83: 5, 25: 4, CONSTANT: 4,
    REDUCE: 4, 32: 3, 20: 3, 94: 2, 81: 1, TRANSPOSE: 1, SLICE: 1, PAD: 1, 96: 1, 57: 1, 37: 1, 54: 0.5,
    TUPLE: 0.5, 48: 0.5, 5: 0.5, 22: 0.5, WINDOW: 0.5, 35: 0.3, 42: 0.3, 82: 0.3, FUSION: 0.3, RESHAPE: 0.3,
}  # fmt: skip
OPERANDS = {
    PARAMETER: 0, CONSTANT: 0, 48: 0, 2: 2, 59: 2, 95: 2, 32: 2, 20: 2, 57: 2, 54: 2, DOT: 2, CONVOLUTION: 2,
    REDUCE: 2, WINDOW: 2, PAD: 2, 22: 3, 83: 3, 82: 3, 42: 2, FUSION: 3, TUPLE: 4,
}  # fmt: skip
TYPES = {13: 0.72, 15: 0.15, 6: 0.05, 10: 0.04, 3: 0.03, 7: 0.01}  # columns of the element types and their shares
SHAPE_COLUMNS = slice(22, 28)  # of a dictionary row, whose first column is the opcode
EMPTY_PRODUCTS = (28, 44, 52, 60, 68, 76, 84, 112, 116, 120, 124, 128, 132)
SIZES = (1, 2, 3, 4, 7, 8, 12, 14, 16, 24, 28, 32, 56, 64, 96, 112, 128, 224, 256, 384, 512, 768, 1024, 3072)


class Graph(typing.NamedTuple):
    """What is known of a layout graph before it is made. `key` names its random stream."""

    key: str
    stem: str
    nodes: int
    edges: int
    slots: int
    layers: int


class Core(typing.NamedTuple):
    """The arrays a `default` and a `random` file share, and the groups of slots behind them."""

    node_feat: np.ndarray
    node_opcode: np.ndarray
    edge_index: np.ndarray
    node_config_ids: np.ndarray
    node_splits: np.ndarray
    slot_group: np.ndarray
    vectors: list  # per group: (codes, 18) float32, of which the first is the default


class Task(typing.NamedTuple):
    collection: str
    split: str
    index: int


def stream(seed, *key):
    """An own random stream for every thing made, whatever was made before."""
    text = "/".join(map(str, (seed, *key)))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def hex_name(seed, *key):
    return hashlib.md5("/".join(map(str, (seed, *key))).encode()).hexdigest()


def log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


# ---------------------------------------------------------------------------------- sizes


def layout_graph(seed, source, split, index):
    key = f"{source}/{split}/{index}"
    rng = stream(seed, "graph", key)
    if source == "xla":
        nodes, edges = XLA_GRAPHS[(index + (0, 69, 76)[SPLITS.index(split)]) % len(XLA_GRAPHS)]
        slots = int(np.clip(nodes * log_uniform(rng, 0.02, 0.07), 26, 2251))
        layers = int(rng.integers(2, 25))
        program = XLA_PROGRAMS[rng.integers(len(XLA_PROGRAMS))]
        stem = f"{program}.{rng.choice(TOPOLOGIES)}.{rng.choice(('bf16', 'fp32'))}.{split}{index:04d}"
    else:
        kinds, weights = list(NLP_GRAPHS), np.array(list(NLP_GRAPHS.values()))
        layers, training = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
        slots = 24 * layers + 56 if training else 8 * layers + 24
        nodes = max(876, int(slots * rng.uniform(20, 32)))
        edges = int(nodes * rng.uniform(1.54, 1.72))
        hidden, batch = 64 * int(rng.integers(2, 17)), 4 << int(rng.integers(0, 8))
        stem = f"bert_en_uncased_L-{layers}_H-{hidden}_A-{hidden // 64}_batch_size_{batch}"
        stem += f"_{('inference', 'train')[training]}.{split}{index:04d}"
    if split == "test":
        stem = hex_name(seed, "test", key)
    return Graph(key, stem, nodes, edges, slots, layers)


def is_narrow(seed, graph):
    """Some XLA graphs leave the search almost no choice (109 configurations at the least)."""
    return graph.key.startswith("xla") and stream(seed, "narrow", graph.key).random() < 0.06


def config_count(seed, graph, search):
    """Configurations the search measured; what of them a test file keeps is cut later."""
    rng = stream(seed, "configs", graph.key, search)
    if graph.key.startswith("nlp"):
        count = CONFIG_CAP if rng.random() < 0.45 else rng.integers(9_000, 80_000)
    elif search == "random" and "train" in graph.key and rng.random() < 5 / 69:
        return DEFAULT_RUNS // 2
    else:
        middle = 12_000 * (400 / graph.slots) ** 0.4
        count = np.clip(middle * rng.lognormal(0, 0.9), 700, CONFIG_CAP)
    return int(min(count, MEMBER_CAP / (SLOT_BYTES * graph.slots)))


def kept_count(graph, configs):
    return min(configs, 1000 + int(graph.key[-1] == "0")) if "/test/" in graph.key else configs


def tile_count(seed, split, index):
    """(nodes, configurations) of a tile kernel; those of two nodes are a lone reshape or copy."""
    rng = stream(seed, "tile sizes", split, index)
    kind = rng.random()
    if kind < 0.06:
        return 2, int(rng.integers(2, 26))
    nodes = 2 if kind < 0.14 else int(np.clip(rng.normal(46, 22), 5, 100))
    return nodes, int(np.clip(rng.lognormal(6.85, 1.5), 2, 7724))


# ---------------------------------------------------------------------------------- node features


def put(row, start, values, width):
    """Writes a list as the featurizer does: the first `width` values, their sum, their product."""
    row[start : start + min(len(values), width)] = values[:width]
    row[start + width] = sum(values)
    row[start + width + 1] = math.prod(values)


def put_window(row, rng, rank):
    size, stride = int(rng.choice((1, 3, 5, 7))), int(rng.choice((1, 1, 1, 2)))
    before, after = size // 2, max(0, size // 2 - (stride > 1))
    for start, value in ((37, size), (45, stride), (53, before), (61, after), (69, 1), (77, 1)):
        put(row, start, [value] * rank, 6)
    reverse = int(rng.random() < 0.3)
    row[85 : 85 + rank] = reverse
    row[91], row[92] = rank * reverse, rank * (1 - reverse)


def put_convolution(row, rng, rank):
    spatial = rank - 2
    put_window(row, rng, spatial)
    row[94] = row[106] = rank - 1
    row[95 : 95 + spatial] = np.arange(1, 1 + spatial)
    row[99], row[100] = (rank - 2, rank - 1) if rng.random() < 0.7 else (rank - 1, rank - 2)
    row[101 : 101 + spatial] = np.arange(spatial)
    row[107] = row[108] = 1


def draw_shapes(rng, count):
    """The shapes of a graph, `count` per rank: its layers have the same ones again and again."""
    sizes = rng.choice(SIZES, 8, replace=False)
    return [[[int(size) for size in rng.choice(sizes, rank)] for _ in range(count)] for rank in range(6)]


def node_row(rng, opcode, shapes):
    row = np.zeros(140, np.float32)
    row[list(EMPTY_PRODUCTS)] = 1
    if opcode == PARAMETER:
        row[30] = rng.integers(0, 36)
    if opcode == TUPLE:
        row[18], row[29] = 1, rng.integers(2, 200)
        return row
    row[rng.choice(list(TYPES), p=list(TYPES.values()))] = 1
    low = {CONVOLUTION: 4, DOT: 2, BROADCAST: 1, REDUCE: 1, TRANSPOSE: 2, WINDOW: 4}.get(opcode, 0)
    high = 1 if opcode == CONSTANT else 4 if opcode == RESHAPE else 5
    rank = int(rng.integers(low, high + 1))
    shape = shapes[rank][rng.integers(len(shapes[rank]))]
    if rank:
        put(row, 21, shape, 6)
    layout = rng.permutation(rank) if rng.random() < 0.1 else np.arange(rank)[::-1]
    row[134 : 134 + rank] = layout
    if opcode == CONVOLUTION:
        put_convolution(row, rng, rank)
    elif opcode == WINDOW:
        put_window(row, rng, rank)
    elif opcode in (BROADCAST, REDUCE, TRANSPOSE):
        dimensions = rng.permutation(rank)[: None if opcode == TRANSPOSE else rng.integers(0, rank + 1)]
        row[31 : 31 + len(dimensions)] = dimensions if opcode == TRANSPOSE else np.sort(dimensions)
    elif opcode == SLICE and rank:
        start = [int(rng.integers(0, size)) for size in shape]
        for column, values in ((109, start), (113, [1] * rank), (117, [a + b for a, b in zip(start, shape)])):
            put(row, column, values, 2)
    elif opcode == PAD and rank:
        put(row, 125, [int(low) for low in rng.integers(0, 2, rank)], 2)
        put(row, 129, [int(high) for high in rng.integers(0, 16, rank)], 2)
    return row


def dictionary(rng, opcodes, shapes):
    """Distinct rows (n, 141) of opcode and features, of the wished opcodes but for those that have
    no more distinct ones."""
    seen, rows = set(), []
    for opcode in opcodes:
        for _ in range(8):
            row = np.concatenate(([opcode], node_row(rng, opcode, shapes))).astype(np.float32)
            if row.tobytes() not in seen:
                seen.add(row.tobytes())
                rows.append(row)
                break
    return np.array(rows)


def draw_opcodes(rng, count):
    shares = np.array(list(SHARES.values()))
    return rng.choice(list(SHARES), count, p=shares / shares.sum())


def finish_nodes(types, rows, roots):
    """(features, opcodes) of the nodes: their dictionary rows, roots marked."""
    table = rows[types]
    features = np.ascontiguousarray(table[:, 1:])
    features[roots, 0] = 1
    return features, table[:, 0].astype(np.uint8)


# ---------------------------------------------------------------------------------- edges


def backward(rng, count, nodes):
    """How far back operands lie: half next door, the others anywhere, near ones more often."""
    near = rng.random(count) < 0.45
    return np.where(near, 1, log_uniform(rng, 1, nodes, count).astype(np.int64))


def draw_edges(rng, opcodes, repeats, wanted):
    """`wanted` edges [user, operand], unique and sorted. `repeats` is for every node the node
    whose operands it repeats (as far away), itself where it begins a pattern."""
    nodes = len(opcodes)
    arity = np.array([OPERANDS.get(int(code), 1) for code in opcodes])
    arity[0] = 0
    users, operands = [], []
    for operand in range(arity.max()):
        user = np.flatnonzero(arity > operand)
        users.append(user)
        operands.append(user - 1 - (backward(rng, nodes, nodes)[repeats[user]] - 1) % user)
    user, operand = np.concatenate(users), np.concatenate(operands)
    tuples = np.flatnonzero(opcodes == PARAMETER)
    hubs = np.sort(rng.choice(tuples, min(len(tuples), 1 + nodes // 1000), replace=False))
    if len(hubs):
        taken = opcodes[user] == GET_TUPLE
        operand[taken] = hubs[np.maximum(np.searchsorted(hubs, user[taken]) - 1, 0)]
    root = rng.choice(nodes - 1, min(230, nodes // 12), replace=False)
    user = np.concatenate((user, np.full(len(root), nodes - 1), np.arange(1, nodes)))
    operand = np.concatenate((operand, root, np.arange(nodes - 1)))
    used = np.zeros(nodes, bool)
    used[operand[: -(nodes - 1)]] = True
    keep = np.ones(len(user), bool)
    keep[-(nodes - 1) :] = ~used[: nodes - 1]  # an operand nobody uses goes to the node after it
    code = (user * nodes + operand)[keep & (operand < user)]
    return pick_edges(rng, np.unique(code), nodes, wanted)


def pick_edges(rng, code, nodes, wanted):
    while len(code) < wanted:
        user = rng.integers(1, nodes, wanted - len(code))
        back = 1 + (backward(rng, len(user), nodes) - 1) % user
        code = np.union1d(code, user * nodes + user - back)
    code = np.sort(rng.choice(code, wanted, replace=False))
    return np.asfortranarray(np.stack((code // nodes, code % nodes), 1).astype(np.int64))


# ---------------------------------------------------------------------------------- layout core


def two_minor(dimensions):
    a, b = dimensions
    return [(a, b), (b, a)]


def matrix_vectors(rng, opcode):
    """Vectors of a dot or convolution group: the order of two minor dimensions per tensor."""
    rank = int(rng.integers(4, 6)) if opcode == CONVOLUTION else int(rng.integers(2, 5))
    last = rank - 1
    pairs = [(last, 0), (last, last - 1)] if opcode == CONVOLUTION else [(last, last - 1)]
    tensors = [two_minor(pairs[rng.integers(len(pairs))]) for _ in range(3)]
    if opcode == CONVOLUTION and rng.random() < 0.5:
        tensors[0] = tensors[0][:1]
    vectors = np.full((math.prod(map(len, tensors)), 18), -1, np.float32)
    for vector, orders in zip(vectors, itertools.product(*tensors)):
        vector[[0, 1, 6, 7, 12, 13]] = [dimension for order in orders for dimension in order]
    if opcode == DOT and rng.random() < 0.5:
        only_output = np.full((1, 18), -1, np.float32)
        only_output[0, :2] = tensors[0][0]
        vectors = np.concatenate((vectors, only_output))
    return vectors


def reshape_vectors(rng):
    """Vectors of a reshape group: permutations for output and input, some left to the compiler."""
    ranks = rng.permutation((1 + int(rng.integers(0, 3)), 2 + int(rng.integers(0, 3))))
    wanted, vectors = rng.choice((1, 2, 3, 6), p=(0.15, 0.5, 0.25, 0.1)), {}
    for _ in range(6 * wanted):
        vector = np.full(18, -1, np.float32)
        if vectors or rng.random() < 0.5:
            for start, rank in zip((0, 6), ranks):
                vector[start : start + rank] = rng.permutation(rank)
        vectors.setdefault(vector.tobytes(), vector)
        if len(vectors) == wanted:
            break
    return np.array(list(vectors.values()))


def draw_groups(rng, source, classes):
    """Groups of slot classes (a class is a slot of the layer, in every layer): each class gets a
    group, sizes heavy-tailed. Returns (group of each class, opcode of each group)."""
    groups = min(classes, int(rng.integers(7, 18) if source == "xla" else rng.integers(14, 27)))
    weights = 1 / (1 + np.arange(groups)) ** 1.3
    group = np.concatenate((np.arange(groups), rng.choice(groups, classes - groups, p=weights / weights.sum())))
    matrix = CONVOLUTION if source == "xla" and rng.random() < 0.6 else DOT
    opcode = np.where(rng.random(groups) < 0.5, matrix, RESHAPE)
    opcode[0] = matrix
    place = rng.permutation(groups)[group] + rng.normal(0, groups / 60, classes)
    return group[np.argsort(place)], opcode  # those of one group mostly lie together


def draw_vectors(rng, opcodes, narrow):
    vectors = [reshape_vectors(rng) if code == RESHAPE else matrix_vectors(rng, code) for code in opcodes]
    vectors = [rng.permutation(group) for group in vectors]
    if narrow:
        return [group[: 2 if index < 8 else 1] for index, group in enumerate(vectors)]
    return vectors


def pattern(rng, graph):
    """Which node repeats which: (first node of the blocks, length of a block, number of blocks)."""
    rows = int(min(0.45 * graph.nodes, 80 * graph.nodes**0.24 * log_uniform(rng, 0.65, 1.3)))
    blocks = max(1, min(graph.layers, graph.nodes // rows))
    length = int(0.9 * graph.nodes) // blocks
    return rows, int(rng.integers(0, graph.nodes - blocks * length)), length, blocks


def place_slots(rng, graph, first, length, blocks, leaders):
    """Positions of the slots: as many in every block at the same places, the others outside."""
    per_block = max(0, int(0.9 * graph.slots) // blocks)
    inside = first + np.sort(rng.choice(length, per_block, replace=False))
    blocked = (inside[None, :] + length * np.arange(blocks)[:, None]).ravel()
    free = np.setdiff1d(np.flatnonzero(leaders == np.arange(graph.nodes)), blocked)
    outside = free[(free < first) | (free >= first + length)]
    lacking = graph.slots - len(blocked)
    pool = outside if len(outside) >= lacking else free
    return np.sort(np.concatenate((blocked, rng.choice(pool, lacking, replace=False))))


@functools.lru_cache(maxsize=1)
def make_core(seed, graph):
    rng = stream(seed, "core", graph.key)
    source, nodes = graph.key[:3], graph.nodes
    row_count, first, length, blocks = pattern(rng, graph)
    leaders = np.arange(nodes)
    inside = (leaders >= first) & (leaders < first + blocks * length)
    leaders = np.where(inside, first + (leaders - first) % length, leaders)

    slots = place_slots(rng, graph, first, length, blocks, leaders)
    slot_leaders, slot_class = np.unique(leaders[slots], return_inverse=True)
    class_group, group_opcode = draw_groups(rng, source, len(slot_leaders))

    shapes = draw_shapes(rng, 4 + row_count // 15)
    slot_rows = [dictionary(rng, np.full(2 + row_count // 40, code), shapes) for code in CONFIGURABLE]
    plain_rows = dictionary(rng, draw_opcodes(rng, row_count - sum(map(len, slot_rows))), shapes)
    plain_rows = plain_rows[np.lexsort(plain_rows[:, SHAPE_COLUMNS].T)]
    rows = np.concatenate([plain_rows, *slot_rows])
    popularity = rng.lognormal(0, 1, len(plain_rows))
    # Every row of the dictionary once, then the popular ones; repeated by the blocks.
    drawn = rng.choice(len(plain_rows), nodes, p=popularity / popularity.sum())
    starts = np.flatnonzero(leaders == np.arange(nodes))
    once = rng.permutation(starts)[: len(plain_rows)]
    drawn[once] = np.arange(len(once))
    for start in range(0, nodes, 32):  # nodes of one shape lie together
        drawn[start : start + 32].sort()
    types = drawn[leaders]
    if source == "xla":  # shapes change from one stage to the next
        changed = rng.random(nodes) < 0.15
        types[changed] = drawn[changed]
    offset = len(plain_rows) + np.cumsum([0] + [len(part) for part in slot_rows])
    for code, low, high in zip(CONFIGURABLE, offset, offset[1:]):
        mine = group_opcode[class_group] == code
        class_type = rng.integers(low, high, len(class_group))
        chosen = mine[slot_class]
        types[slots[chosen]] = class_type[slot_class[chosen]]

    cuts = np.sort(rng.choice(nodes // 2, int(rng.integers(0, 7)), replace=False)) + 1
    splits = np.unique(np.concatenate(([0], cuts, [nodes])))
    features, opcodes = finish_nodes(types, rows, splits[1:] - 1)
    edges = draw_edges(rng, opcodes, leaders, graph.edges)
    vectors = draw_vectors(rng, group_opcode, is_narrow(seed, graph))
    ids, splits = slots.astype(np.int64), splits.astype(np.int64)[None]
    return Core(features, opcodes, edges, ids, splits, class_group[slot_class], vectors)


# ---------------------------------------------------------------------------------- layout search


def runtime_factors(rng, choices):
    """Per group and code a logarithm of the runtime's factor; few groups have large ones."""
    spread = log_uniform(rng, 0.016, 1.6)
    shares = spread * rng.dirichlet(np.full(len(choices), 0.3))
    table = np.zeros((len(choices), choices.max()))
    for group, count in enumerate(choices):
        table[group, :count] = shares[group] * rng.random(count) ** 2
    return table


def random_search(rng, choices, count):
    return rng.integers(0, choices, (count, len(choices)), dtype=np.uint8)


def genetic_search(rng, choices, count, factors, repeats):
    """`count` rows of codes in generations: children of an elite, of which `repeats` unchanged."""
    groups = np.arange(len(choices))
    codes = random_search(rng, choices, count)
    size = max(64, count // 100)
    elite = codes[:size]
    for start in range(size, count, size):
        children = codes[start : start + size]
        again = rng.random(len(children)) < repeats
        fit = np.minimum(rng.geometric(5 / len(elite), len(children)) - 1, len(elite) - 1)
        parent = np.where(again, fit, rng.integers(0, len(elite), len(children)))
        changes = np.where(again, 0, rng.integers(1, 5, len(children)))
        changed = rng.random(children.shape).argsort(1) < changes[:, None]
        other = (elite[parent] + 1 + rng.random(children.shape) * (choices - 1)).astype(np.int64) % choices
        children[:] = np.where(changed, other, elite[parent])
        # The elite: the best of what was there and what has come, and some of the newest for variety.
        pool = np.unique(np.concatenate((elite, children)), axis=0)
        best = pool[np.argsort(factors[groups, pool].sum(1), kind="stable")[: size // 2]]
        elite = np.concatenate((best, children[: size - len(best)]))
    return codes


def measured(seed, graph, core, search, count):
    """(codes, runtimes) of a file in the order they were measured; a test file keeps some rows."""
    choices = np.array([len(group) for group in core.vectors])
    factors = runtime_factors(stream(seed, "factors", graph.key), choices)
    rng = stream(seed, "search", graph.key, search)
    if count <= DEFAULT_RUNS:
        codes = np.zeros((count, len(choices)), np.uint8)
    else:
        if search == "random":
            codes = random_search(rng, choices, count)
        else:
            low, high = (0.05, 0.25) if graph.key.startswith("xla") else (0.03, 0.16)
            codes = genetic_search(rng, choices, count, factors, rng.uniform(low, high))
        codes[rng.choice(count, DEFAULT_RUNS, replace=False)] = 0
    if "/test/" in graph.key:
        codes = codes[np.sort(rng.choice(count, kept_count(graph, count), replace=False))]
        return codes, np.zeros(len(codes), np.int64)
    base = log_uniform(stream(seed, "base", graph.key), 4e7, 2.5e10)
    noise = rng.normal(0, log_uniform(rng, 2e-5, 1e-3), len(codes))
    logarithm = np.zeros(len(codes))
    for group, table in enumerate(factors):
        logarithm += table[codes[:, group]]
    return codes, np.rint(base * np.exp(logarithm + noise)).astype(np.int64)


# ---------------------------------------------------------------------------------- files


def write_member(archive, name, array):
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        npy.write_array(member, array, version=(1, 0))


def write_configs(archive, core, codes):
    """node_config_feat, (configurations, slots, 18) float32, a block of rows at a time."""
    vectors = np.concatenate(core.vectors).view(f"V{SLOT_BYTES}").ravel()
    first = np.cumsum([0] + [len(group) for group in core.vectors[:-1]])
    slots = len(core.slot_group)
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(codes), slots, 18)}
    block = max(1, BLOCK_BYTES // (SLOT_BYTES * slots))
    with archive.open("node_config_feat.npy", "w", force_zip64=True) as member:
        npy.write_array_header_1_0(member, header)
        for start in range(0, len(codes), block):
            entry = codes[start : start + block] + first
            member.write(vectors[np.take(entry, core.slot_group, axis=1)].data.cast("B"))


def write_file(path, level, fill):
    """Calls fill(archive); the file appears under its name when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        fill(archive)
    partial.rename(path)


def write_layout(path, level, seed, graph, search, count):
    core = make_core(seed, graph)
    codes, runtimes = measured(seed, graph, core, search, count)

    def fill(archive):
        for name in ("node_feat", "node_opcode", "edge_index"):
            write_member(archive, name, getattr(core, name))
        write_configs(archive, core, codes)
        write_member(archive, "node_config_ids", core.node_config_ids)
        write_member(archive, "config_runtime", runtimes)
        write_member(archive, "node_splits", core.node_splits)

    write_file(path, level, fill)


def tile_bounds(rng, count):
    """(count, 24) tile sizes of a kernel's output, for some its kernel too, with sums and products."""
    features = np.zeros((count, 24), np.float64)
    for start in (0, 8) if rng.random() < 0.3 else (8,):
        rank = 2 if start == 0 else int(rng.integers(2, 5))
        each = count ** (1 / rank)
        bounds = np.empty((4 * count, rank))
        for axis in range(rank):
            size = int(rng.integers(8, 65)) * 4 + int(4 * each)
            sizes = np.unique(np.ceil(size / np.arange(1, 2 + int(4 * each))))  # tiles that divide it
            bounds[:, axis] = rng.choice(sizes, len(bounds))
        drawn = rng.permutation(np.unique(bounds, axis=0))
        bounds = np.resize(drawn, (count, rank))
        features[:, start : start + rank] = bounds
        features[:, start + 6], features[:, start + 7] = bounds.sum(1), bounds.prod(1)
    if count > 8 and rng.random() < 0.15:
        features[-1] = features[0]  # measured twice
    return features.astype(np.float32)


def tile_nodes(rng, nodes, lone):
    shapes = draw_shapes(rng, 3)
    if nodes == 2:
        opcodes = np.array([PARAMETER, lone])
        rows = np.array([np.concatenate(([code], node_row(rng, code, shapes))) for code in opcodes])
        return finish_nodes(np.arange(2), rows.astype(np.float32), [1])
    rows = dictionary(rng, draw_opcodes(rng, int(nodes * rng.uniform(0.6, 1))), shapes)
    types = np.concatenate((np.arange(len(rows)), rng.integers(0, len(rows), nodes)))[:nodes]
    features, opcodes = finish_nodes(rng.permutation(types), rows, [nodes - 1])
    opcodes[-1] = FUSION
    return features, opcodes


def write_tile(path, level, seed, split, index):
    nodes, count = tile_count(seed, split, index)
    rng = stream(seed, "tile", split, index)
    lone_reshape = nodes == 2 and count <= 25
    features, opcodes = tile_nodes(rng, nodes, RESHAPE if lone_reshape else COPY)
    if nodes == 2:
        edges = np.array([[1, 0]])
    else:
        edges = draw_edges(rng, opcodes, np.arange(nodes), int(nodes * rng.uniform(0.95, 1.12)))
    if lone_reshape:
        configs = np.zeros((count, 24), np.float32)
        slowness = rng.random(count) * 0.5
    else:
        configs = tile_bounds(rng, count)
        best = np.log(configs[:, 15].max())
        slowness = 0.3 * rng.random(count) + 0.25 * np.abs(np.log(configs[:, 15]) - 0.7 * best)
    runtimes = np.rint(log_uniform(rng, 6e2, 6e5) * np.exp(slowness - slowness.min())).astype(np.int64)
    normalizers = np.full(count, runtimes[0])
    if split == "test":
        runtimes, normalizers = np.zeros_like(runtimes), np.ones_like(normalizers)

    def fill(archive):
        write_member(archive, "node_feat", features)
        write_member(archive, "node_opcode", opcodes)
        write_member(archive, "edge_index", np.asfortranarray(edges.astype(np.int64)))
        write_member(archive, "config_feat", configs)
        write_member(archive, "config_runtime", runtimes)
        write_member(archive, "config_runtime_normalizers", normalizers)

    write_file(path, level, fill)


def tile_stem(seed, split, index):
    if split == "test":
        return hex_name(seed, "tile test", index)
    fingerprint = int.from_bytes(hashlib.md5(f"{seed}/{split}/{index}".encode()).digest()[:8], "big", signed=True)
    rng = stream(seed, "tile program", split, index % 137 if split == "train" else index % 17)
    program = XLA_PROGRAMS[rng.integers(len(XLA_PROGRAMS))]
    return f"{program}.{rng.choice(TOPOLOGIES)}.{rng.choice(('bf16', 'fp32'))}_{fingerprint:x}"


# ---------------------------------------------------------------------------------- the tree


def plan(collections, scale):
    """One task per file. Files of one core lie side by side, so that the core is made once."""
    tasks = [
        Task(collection, split, index)
        for collection in collections
        for split, released in zip(SPLITS, FILES[collection])
        for index in range(max(1, round(released * scale)))
    ]
    return sorted(tasks, key=lambda task: (task.collection.split(":")[:2], task.split, task.index))


def measure(seed, task):
    """(place in the tree, rows, bytes of the configurations inflated) of a task's file."""
    kind, source, *search = task.collection.split(":")
    folder = pathlib.Path("npz", kind, source, *search, task.split)
    if kind == "tile":
        rows = tile_count(seed, task.split, task.index)[1]
        return folder / f"{tile_stem(seed, task.split, task.index)}.npz", rows, rows * 24 * 4
    graph = layout_graph(seed, source, task.split, task.index)
    rows = kept_count(graph, config_count(seed, graph, search[0]))
    return folder / f"{graph.stem}.npz", rows, rows * graph.slots * SLOT_BYTES


def write_task(out, level, seed, task):
    """Writes a task's file unless it is there; returns the inflated bytes written."""
    place, _, size = measure(seed, task)
    path = out / place
    if path.exists():
        return 0
    kind, source, *search = task.collection.split(":")
    if kind == "tile":
        write_tile(path, level, seed, task.split, task.index)
    else:
        graph = layout_graph(seed, source, task.split, task.index)
        write_layout(path, level, seed, graph, search[0], config_count(seed, graph, search[0]))
    return size


def write_member_file(out, level, seed, size):
    """One file of a 12-layer training graph, 344 slots, with as many configurations as fit."""
    slots = 24 * 12 + 56
    graph = Graph(f"nlp/train/member_{size}", f"member_{size}", 26 * slots, 42 * slots, slots, 12)
    path = out / "npz/layout/nlp/random/train" / f"{graph.stem}.npz"
    if not path.exists():
        write_layout(path, level, seed, graph, "random", max(100, size // (SLOT_BYTES * slots)))
    return path


def run(tasks, jobs, work):
    start, done = time.perf_counter(), 0
    with multiprocessing.Pool(jobs) as pool:
        results = pool.imap_unordered(work, tasks, chunksize=2)
        for count, size in enumerate(results, 1):
            done += size
            if count == len(tasks) or count % 50 == 0:
                rate = done / 1e6 / (time.perf_counter() - start)
                print(f"{count}/{len(tasks)} files, {done / 1e9:.2f} GB inflated, {rate:.0f} MB/s", file=sys.stderr)


def print_plan(seed, collections, tasks):
    print(f"{'collection':20}{'files':>8}{'rows':>13}{'GB inflated':>13}{'largest GB':>12}")
    for collection in collections:
        found = [measure(seed, task)[1:] for task in tasks if task.collection == collection]
        rows, sizes = zip(*found)
        print(f"{collection:20}{len(found):8}{sum(rows):13,}{sum(sizes) / 1e9:13.2f}{max(sizes) / 1e9:12.2f}")


def arguments():
    head, tail = __doc__.split("\n\n", 1)
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=head, epilog="examples and sources:\n" + tail, formatter_class=form)
    add = parser.add_argument
    add("out", type=pathlib.Path, help="folder in which npz/ is written")
    add("--seed", type=int, default=7, help="default 7")
    add("--scale", type=float, default=1.0, help="share of the released files, one per split at least (default 1)")
    add("--collections", default=",".join(FILES), help="comma-separated, default all: %(default)s")
    add("--jobs", type=int, default=1, help="processes (default 1)")
    add("--level", type=int, default=6, help="deflate level, default 6, as released; 1: twice as fast, 3 times as large")
    member = "write one file only, npz/layout/nlp/random/train/member_N.npz, its node_config_feat of about N bytes"
    add("--member-bytes", type=float, metavar="N", help=member)
    add("--dry-run", action="store_true", help="print files, rows and bytes per collection, write nothing")
    given = parser.parse_args()
    given.collections = given.collections.split(",")
    unknown = sorted(set(given.collections) - set(FILES))
    if unknown:
        parser.error(f"no such collection: {', '.join(unknown)}")
    return given


def main():
    given = arguments()
    if given.member_bytes:
        print(write_member_file(given.out, given.level, given.seed, int(given.member_bytes)))
        return
    tasks = plan(given.collections, given.scale)
    if given.dry_run:
        print_plan(given.seed, given.collections, tasks)
        return
    run(tasks, given.jobs, functools.partial(write_task, given.out, given.level, given.seed))


if __name__ == "__main__":
    main()
