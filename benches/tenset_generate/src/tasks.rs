//! The tasks: which operator, of which shape, with how many programs.

use std::collections::HashSet;

use fastrand::Rng;

use crate::number::{rng, write_list};

/// Tasks of each kind of target in TenSet.
pub const TASKS: usize = 2308;

/// Records of TenSet, by its README and paper.
pub const RECORDS: u64 = 51_577_248;

/// Programs of a task, at most.
pub const PROGRAMS: u64 = 4000;

/// A task; sampled once, measured on every platform of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Llvm,
    Cuda,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Llvm => "llvm",
            Self::Cuda => "cuda",
        }
    }
}

/// A subgraph to be compiled.
pub struct Task {
    /// Place among all tasks of its kind.
    pub number: u64,
    /// `["<hash of the operator>", shape ...]` as it stands in a log, without escapes.
    pub key: String,
    /// Extents of the spatial axes of the main stage.
    pub spatial: Vec<u64>,
    /// Extents of its reduction axes.
    pub reduce: Vec<u64>,
    pub flop: f64,
    /// Programs that were sampled.
    pub programs: u64,
}

/// Operators: share of the tasks, hashes among them (with and without bias, residual, ...).
const CLASSES: [(&str, f64, u64); 9] = [
    ("conv2d", 0.44, 40),
    ("depthwise", 0.13, 22),
    ("conv3d", 0.05, 12),
    ("dense", 0.10, 14),
    ("batch_matmul", 0.10, 10),
    ("softmax", 0.05, 8),
    ("pool", 0.06, 16),
    ("reduce", 0.04, 8),
    ("elementwise", 0.03, 8),
];

/// The first `count` tasks of a kind. The `TASKS` of TenSet on its six platforms have `RECORDS`
/// programs in all.
pub fn tasks(kind: Kind, count: usize, seed: u64) -> Vec<Task> {
    let mut seen = HashSet::new();
    let mut tasks: Vec<Task> = (0..count as u64)
        .map(|number| {
            let mut tries = 0;
            loop {
                let mut rng = rng(seed, &[kind as u64, number, tries]);
                let task = task(kind, number, &mut rng);
                tries += 1;
                if seen.insert(task.key.clone()) {
                    break task;
                }
            }
        })
        .collect();
    settle(&mut tasks);
    tasks
}

/// Makes the first `TASKS` tasks have, on six platforms, as many programs as TenSet.
fn settle(tasks: &mut [Task]) {
    let Some(tasks) = tasks.get_mut(..TASKS) else {
        return;
    };
    let wanted = RECORDS / 6;
    let have: u64 = tasks.iter().map(|task| task.programs).sum();
    let mut missing = wanted as i64 - have as i64;
    for task in tasks.iter_mut().filter(|task| task.programs < PROGRAMS) {
        let change = missing.clamp(
            -(task.programs as i64 - 100),
            (PROGRAMS - task.programs) as i64,
        );
        task.programs = (task.programs as i64 + change) as u64;
        missing -= change;
    }
}

fn task(kind: Kind, number: u64, rng: &mut Rng) -> Task {
    let mut share = rng.f64();
    let mut place = 0;
    while share >= CLASSES[place].1 && place + 1 < CLASSES.len() {
        share -= CLASSES[place].1;
        place += 1;
    }
    let (class, _, variants) = CLASSES[place];
    let variants = if kind == Kind::Cuda {
        variants * 4 / 3
    } else {
        variants
    };
    let variant = rng.u64(..variants);
    let (shape, spatial, reduce) = shapes(class, rng);
    let points: u64 = spatial.iter().product::<u64>() * reduce.iter().product::<u64>();
    let mut key = format!("[\"{}\", ", hash(class, variant, kind));
    let mut list = Vec::new();
    write_list(&shape, &mut list);
    key.push_str(&String::from_utf8_lossy(&list)[1..]);
    let full = rng.f64() < 0.86;
    Task {
        number,
        key,
        spatial,
        reduce,
        flop: points as f64 * 2.0,
        programs: if full {
            PROGRAMS
        } else {
            rng.u64(300..PROGRAMS)
        },
    }
}

/// 32 hexadecimal digits that name an operator.
fn hash(class: &str, variant: u64, kind: Kind) -> String {
    let words: Vec<u64> = class
        .bytes()
        .map(u64::from)
        .chain([variant, kind as u64])
        .collect();
    let mut rng = rng(0, &words);
    format!("{:016x}{:016x}", rng.u64(..), rng.u64(..))
}

/// Shapes of all tensors as they stand in the key, spatial axes, reduction axes.
fn shapes(class: &str, rng: &mut Rng) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let mut any = |of: &[u64]| of[rng.usize(..of.len())];
    let channels = [
        16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 2048,
    ];
    let n = any(&[1, 2, 4, 8]);
    let h = any(&[
        4, 7, 8, 10, 14, 15, 16, 20, 28, 30, 32, 40, 56, 60, 64, 80, 112, 120,
    ]);
    let (ci, co) = (any(&channels), any(&channels));
    let k = any(&[1, 1, 1, 3, 3, 5, 7]);
    let stride = any(&[1, 1, 1, 2]);
    let o = h.div_ceil(stride);
    let seq = any(&[64, 128, 256]);
    match class {
        "conv2d" => (
            vec![n, h, h, ci, k, k, ci, co, 1, 1, 1, co, n, o, o, co],
            vec![n, o, o, co],
            vec![k, k, ci],
        ),
        "depthwise" => (
            vec![
                n,
                h,
                h,
                ci,
                k.max(3),
                k.max(3),
                ci,
                1,
                1,
                1,
                1,
                ci,
                n,
                o,
                o,
                ci,
            ],
            vec![n, o, o, ci],
            vec![k.max(3), k.max(3)],
        ),
        "conv3d" => {
            let (d, k) = (any(&[4, 8, 16]), k.min(3));
            (
                vec![
                    n, d, h, h, ci, k, k, k, ci, co, 1, 1, 1, 1, co, n, d, o, o, co,
                ],
                vec![n, d, o, o, co],
                vec![k, k, k, ci],
            )
        }
        "dense" => (
            vec![n * seq, ci, co, ci, n * seq, co],
            vec![n * seq, co],
            vec![ci],
        ),
        "batch_matmul" => {
            let (heads, width) = (any(&[2, 4, 8, 12, 16]) * n, any(&[32, 64]));
            (
                vec![heads, seq, width, heads, seq, width, heads, seq, seq],
                vec![heads, seq, seq],
                vec![width],
            )
        }
        "softmax" => (
            vec![n * h, seq, seq, n * h, seq, seq],
            vec![n * h, seq],
            vec![seq],
        ),
        "pool" => (
            vec![n, h, h, ci, n, o, o, ci],
            vec![n, o, o, ci],
            vec![3, 3],
        ),
        "reduce" => (vec![n, seq, ci, n, seq], vec![n, seq], vec![ci]),
        _ => (
            vec![n, h, h, ci, n, h, h, ci],
            vec![n, h, h, ci],
            Vec::new(),
        ),
    }
}
