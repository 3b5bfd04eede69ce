"""C code of a schedule: every loop, region and vector as the steps left them.

Vectors are GCC's vector types, unrolling and threads are pragmas. The compiler vectorises nothing
of its own accord (see the options in make.py), so what is fast is fast by its steps.
"""

import math

from generator.schedule import PARALLEL, UNROLL, VECTORIZE


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
        parameters = ", ".join([*parameters, f"float *restrict {output}"])
        lines = [f"__attribute__((noipa)) static void {name}({parameters}) {{"]
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
        if stage.unroll_steps is not None:
            unroll_steps = stage.unroll_steps
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
        elif loop.annotation == UNROLL or (steps and loop.extent * steps <= unroll_steps):
            head, steps = [f"#pragma GCC unroll {loop.extent}"], steps and loop.extent * steps
        else:
            steps = None
        name = loop.name
        head.append(f"for (int {name} = 0; {name} < {loop.extent}; {name}++) {{")
        return [*head, *parts, *inner, "}"], steps

    def statement(self, stage, part):
        axes = stage.index()
        target = self.at(stage.name, *axes[: len(stage.shape)], store=True)
        value = (stage.start or self.zero()) if part == "start" else stage.body(self, *axes)
        if part == "update":
            value = stage.combine.format(target, value)
        return f"{target} = {value};"

    def zero(self):
        return f"(v{self.lane.extent}){{}}" if self.lane else "0.0f"

    def where(self, condition, name, *axes):
        """An element, or 0 where the condition does not hold."""
        vector = self.lane and any(self.lane.name in axis for axis in axes)
        return f"({condition} ? {self.at(name, *axes)} : {self.zero() if vector else '0.0f'})"

    def call(self, function, value):
        """A C function of a value, lane by lane where it is a vector."""
        if not self.lane:
            return f"{function}({value})"
        lanes = ", ".join(f"{function}(lanes[{lane}])" for lane in range(self.lane.extent))
        vector = f"v{self.lane.extent}"
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
            return f"(*(v{lanes} *)&{name}[{text(index)}])"
        assert not store, "vector loops run along the last axis of what they compute"
        each = ", ".join(f"{name}[{text(add(index, lane * step))}]" for lane in range(lanes))
        return f"(v{lanes}){{{each}}}"
