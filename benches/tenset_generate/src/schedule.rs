//! Programs: schedules of the shape that Ansor's search policy writes for a CPU or a GPU.

use fastrand::Rng;

use crate::number::{write_int, write_list};
use crate::tasks::{Kind, Task};

/// Appends the transform steps of one program, `[["SP", 3, 0, ...], ...]`.
pub fn write_steps(kind: Kind, task: &Task, rng: &mut Rng, out: &mut Vec<u8>) {
    let mut steps = Steps { out, first: true };
    steps.out.push(b'[');
    match kind {
        Kind::Llvm => cpu(task, rng, &mut steps),
        Kind::Cuda => gpu(task, rng, &mut steps),
    }
    steps.out.push(b']');
}

struct Steps<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Steps<'_> {
    fn begin(&mut self, kind: &str) {
        if !self.first {
            self.out.extend_from_slice(b", ");
        }
        self.first = false;
        self.out.extend_from_slice(b"[\"");
        self.out.extend_from_slice(kind.as_bytes());
        self.out.push(b'"');
    }

    /// A step of numbers only.
    fn step(&mut self, kind: &str, numbers: &[u64]) {
        self.begin(kind);
        for &number in numbers {
            self.out.extend_from_slice(b", ");
            write_int(number, self.out);
        }
        self.out.push(b']');
    }

    /// `["FU", stage, [...]]` and its like.
    fn listed(&mut self, kind: &str, before: &[u64], list: &[u64], after: &[u64]) {
        self.begin(kind);
        for &number in before {
            self.out.extend_from_slice(b", ");
            write_int(number, self.out);
        }
        self.out.extend_from_slice(b", ");
        write_list(list, self.out);
        for &number in after {
            self.out.extend_from_slice(b", ");
            write_int(number, self.out);
        }
        self.out.push(b']');
    }

    fn scope(&mut self, kind: &str, stage: u64, scope: &str, readers: Option<u64>) {
        self.begin(kind);
        self.out.extend_from_slice(b", ");
        write_int(stage, self.out);
        self.out.extend_from_slice(b", \"");
        self.out.extend_from_slice(scope.as_bytes());
        self.out.push(b'"');
        if let Some(reader) = readers {
            self.out.extend_from_slice(b", [");
            write_int(reader, self.out);
            self.out.push(b']');
        }
        self.out.push(b']');
    }

    fn unroll(&mut self, stage: u64, most: u64) {
        self.begin("PR");
        self.out.extend_from_slice(b", ");
        write_int(stage, self.out);
        self.out.extend_from_slice(b", 0, \"auto_unroll_max_step$");
        write_int(most, self.out);
        self.out.extend_from_slice(b"\"]");
    }

    fn parallel(&mut self, stage: u64, fused: u64, annotation: u64) {
        self.listed("FU", &[stage], &range(0, fused), &[]);
        self.step("AN", &[stage, 0, annotation]);
    }
}

fn range(from: u64, count: u64) -> Vec<u64> {
    (from..from + count).collect()
}

/// Lengths of the inner loops of an axis: factors of its extent, each drawn among those left.
fn lengths(extent: u64, levels: usize, most: u64, rng: &mut Rng) -> Vec<u64> {
    let mut left = extent;
    let mut lengths: Vec<u64> = (0..levels)
        .map(|_| {
            let divisors: Vec<u64> = (1..=left.min(most))
                .filter(|&d| left.is_multiple_of(d))
                .collect();
            let length = divisors[rng.usize(..divisors.len())];
            left /= length;
            length
        })
        .collect();
    rng.shuffle(&mut lengths);
    lengths
}

/// New places of iterators where `spatial` axes of `levels` loops and `reduce` axes of
/// `reduce_levels` are put into the order S..S R S..R S.
fn reordered(spatial: u64, levels: u64, reduce: u64, reduce_levels: u64, shape: &[u8]) -> Vec<u64> {
    let (mut order, mut s, mut r) = (Vec::new(), 0, 0);
    for &group in shape {
        if group == b'S' {
            order.extend((0..spatial).map(|axis| axis * levels + s));
            s += 1;
        } else {
            order.extend((0..reduce).map(|axis| spatial * levels + axis * reduce_levels + r));
            r += 1;
        }
    }
    order
}

fn cpu(task: &Task, rng: &mut Rng, steps: &mut Steps<'_>) {
    let (spatial, reduce) = (task.spatial.len() as u64, task.reduce.len() as u64);
    let unroll = [0, 16, 64, 512][rng.usize(..4)];
    if reduce == 0 {
        steps.parallel(1, spatial, 3);
        steps.unroll(1, unroll);
        if rng.bool() {
            steps.step("AN", &[1, spatial - 1, 2]);
        }
        return;
    }
    let main = 3;
    let tiling = rng.u8(..8);
    let padding = rng.u8(..3);
    if tiling == 7 && spatial <= 2 {
        // A reduction in two steps.
        let factor = lengths(task.reduce[0], 1, 256, rng);
        steps.listed("SP", &[main, spatial, task.reduce[0]], &factor, &[1]);
        steps.step("RF", &[main, spatial + 1, spatial]);
        steps.parallel(main, spatial, 3);
        steps.unroll(main, unroll);
        steps.step("AN", &[main, spatial + 1, 2]);
        return;
    }
    let cached = tiling >= 5;
    if cached {
        steps.scope("CHW", main, "local", None);
    }
    if padding == 0 {
        steps.step("CI", &[1]);
    }
    for (axis, &extent) in (0..).zip(&task.spatial) {
        steps.listed(
            "SP",
            &[main, axis * 4, extent],
            &lengths(extent, 3, 64, rng),
            &[1],
        );
    }
    for (axis, &extent) in (0..).zip(&task.reduce) {
        let place = spatial * 4 + axis * 2;
        steps.listed(
            "SP",
            &[main, place, extent],
            &lengths(extent, 1, 64, rng),
            &[1],
        );
    }
    let order = reordered(spatial, 4, reduce, 2, b"SSRSRS");
    steps.listed("RE", &[main], &order, &[]);
    let consumer = main + if cached { 1 } else { 2 };
    let fused = tiling >= 2;
    if fused {
        let split = if tiling.is_multiple_of(2) { 1 } else { 2 };
        for axis in 0..spatial {
            let place = axis * (split + 1);
            steps.step(
                "FSP",
                &[
                    consumer,
                    place,
                    axis + u64::from(padding == 0) + u64::from(cached),
                    split,
                ],
            );
        }
        let order = reordered(
            spatial,
            split + 1,
            0,
            0,
            if split == 1 { b"SS" } else { b"SSS" },
        );
        steps.listed("RE", &[consumer], &order, &[]);
        steps.step("CA", &[main, consumer, rng.u64(0..spatial * 2)]);
    } else {
        steps.step("CR", &[consumer]);
    }
    if padding == 1 {
        let target = if fused { consumer } else { main };
        steps.step("CA", &[1, target, rng.u64(0..spatial * 3)]);
    } else if padding == 2 {
        steps.step("CR", &[1]);
        steps.parallel(1, spatial.min(rng.u64(2..5)), 3);
    }
    let outer = if fused { consumer } else { main };
    steps.parallel(outer, rng.u64(1..=spatial * 2), 3);
    if !fused {
        steps.parallel(consumer, spatial, 3);
    }
    steps.unroll(main, unroll);
    if padding == 1 && rng.bool() {
        steps.step("AN", &[1, spatial, 2]);
    }
    if rng.u8(..4) > 0 {
        steps.step("AN", &[main, spatial * 4 + reduce * 2 - 1, 2]);
    }
    if fused && rng.bool() {
        steps.step(
            "AN",
            &[consumer, spatial * 2 - 1 - rng.u64(0..2).min(spatial), 2],
        );
    }
}

fn gpu(task: &Task, rng: &mut Rng, steps: &mut Steps<'_>) {
    let (spatial, reduce) = (task.spatial.len() as u64, task.reduce.len() as u64);
    let unroll = [0, 16, 64, 512, 1024][rng.usize(..5)];
    if reduce == 0 || (spatial <= 2 && rng.u8(..3) == 0) {
        steps.listed("FU", &[1], &range(0, spatial), &[]);
        let total: u64 = task.spatial.iter().product();
        steps.listed("SP", &[1, 0, total], &lengths(total, 1, 1024, rng), &[1]);
        steps.step("AN", &[1, 0, 5]);
        steps.step("AN", &[1, 1, 6]);
        steps.unroll(1, unroll);
        return;
    }
    let main = 3;
    steps.scope("CHW", main, "local", None);
    for (axis, &extent) in (0..).zip(&task.spatial) {
        steps.listed(
            "SP",
            &[main, axis * 5, extent],
            &lengths(extent, 4, 64, rng),
            &[1],
        );
    }
    for (axis, &extent) in (0..).zip(&task.reduce) {
        let place = spatial * 5 + axis * 3;
        steps.listed(
            "SP",
            &[main, place, extent],
            &lengths(extent, 2, 64, rng),
            &[1],
        );
    }
    steps.listed(
        "RE",
        &[main],
        &reordered(spatial, 5, reduce, 3, b"SSSRRSRS"),
        &[],
    );
    for axis in 0..spatial {
        steps.step("FSP", &[main + 1, axis * 4, axis + 1, 3]);
    }
    steps.listed(
        "RE",
        &[main + 1],
        &reordered(spatial, 4, 0, 0, b"SSSS"),
        &[],
    );
    steps.step("CA", &[main, main + 1, spatial * 3 - 1]);
    for (place, tensor) in (0..).zip([2, 1]) {
        steps.scope("CHR", tensor, "shared", Some(main + place));
        steps.step(
            "CA",
            &[tensor + 1, main + 1 + place, spatial * 3 + reduce - 1],
        );
    }
    steps.step("CI", &[1]);
    for (place, annotation) in (0..).zip([5, 4, 6]) {
        steps.listed("FU", &[main + 3], &range(place, spatial), &[]);
        steps.step("AN", &[main + 3, place, annotation]);
    }
    for tensor in [4, 2] {
        let width = [1, 2, 3, 4][rng.usize(..4)];
        steps.listed("FU", &[tensor], &range(0, spatial), &[]);
        let extent = width * lengths(4096, 1, 512, rng)[0] * [1, 3, 7][rng.usize(..3)];
        steps.listed("SP", &[tensor, 0, extent], &[width], &[1]);
        steps.step("AN", &[tensor, 1, 2]);
        let sources: Vec<u64> = (1..=spatial).rev().collect();
        steps.listed("FFSP", &[tensor, 0], &sources, &[1, 1]);
        steps.step("AN", &[tensor, 1, 6]);
    }
    steps.unroll(main + 2, unroll);
}
