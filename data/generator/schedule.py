"""Tensors as stages of loops, and the transform steps of TVM's auto_scheduler that rearrange them.

A step is applied and written down in one go, so that the log says what the loops are. Stages and
loops are numbered as they stand when the step is taken, which is how TVM numbers them.
"""

import math

UNROLL, VECTORIZE, PARALLEL = 1, 2, 3  # TVM's IteratorAnnotation


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

    def __init__(self, name, shape, body=None, reduce=(), start=None, combine="{} + {}"):
        self.name, self.shape, self.body = name, list(shape), body
        self.reduce, self.start, self.combine = list(reduce), start, combine
        extents = self.shape + self.reduce
        self.loops = [Loop(f"{name}_{axis}", axis, extent) for axis, extent in enumerate(extents)]
        self.place = None  # "inline", or the stage and loop that it is computed at
        self.unroll_steps = None  # as the loops around it
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
