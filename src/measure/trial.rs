//! One measurement with everything bound: what is built, what it is called with, how it is timed,
//! and what came of it. All of it travels as JSON between the process that plans and the one that runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a kernel is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    C,
    #[serde(rename = "c++")]
    Cxx,
    Cuda,
}

/// Type of the elements of a buffer, or of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I16,
    I8,
    U8,
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    In,
    Out,
    InOut,
}

/// What a buffer that is read holds, from the trial's seed. Outputs are poisoned instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Init {
    /// Evenly distributed between the two; for integers both ends can occur.
    Uniform { low: f64, high: f64 },
    /// The same everywhere.
    Constant { value: f64 },
    /// 0, 1, 2, ... modulo `modulus`.
    Count { modulus: i64 },
}

/// A value that is passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Integer(i64),
    Float(f64),
}

/// An argument of the kernel, in the order of its C signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Argument {
    Buffer {
        name: String,
        dtype: Dtype,
        /// Numbers of elements, slowest dimension first.
        shape: Vec<u64>,
        role: Role,
        init: Init,
    },
    Scalar {
        name: String,
        dtype: Dtype,
        value: Value,
    },
}

/// A source file: the name under which the compiler sees it, and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What is compiled: sources, the function to call, and the compiler's flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) language: Language,
    /// The first is compiled; the others lie beside it (headers), or are compiled too (`.c`, `.cc`, `.cpp`).
    pub(crate) sources: Vec<Source>,
    pub(crate) entry: String,
    pub(crate) flags: Vec<String>,
}

/// How many threads a CUDA kernel is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
}

/// How outputs are compared with those of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    /// `|x - r|_2 / |r|_2` of each output is at most `rtol` (or `|x - r|_2` at most `atol`).
    RelL2,
    /// Each element: `|x - r| <= atol + rtol * |r|`.
    Elementwise,
}

/// The reference: C or C++ with the same arguments, run on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) reference: Program,
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
    pub(crate) metric: Metric,
}

/// What caches hold before a call that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cache {
    /// What the call before left there.
    Warm,
    /// Nothing of the arguments: they are flushed before every call.
    Cold,
}

/// How it is timed. Part of the environment that a record names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) cache: Cache,
    /// Repeats at least; each is the mean of as many calls as take `min_repeat_ms`.
    pub(crate) repeat: u32,
    /// Repeats at most, where their median is not precise before.
    pub(crate) max_repeat: u32,
    pub(crate) min_repeat_ms: f64,
    /// Half of the median's 95 % confidence interval over the median, at which timing ends.
    pub(crate) precision: f64,
    /// Seconds after which timing ends in any case.
    pub(crate) max_time_s: f64,
    pub(crate) timeout_build_s: f64,
    pub(crate) timeout_run_s: f64,
    /// Threads that the kernel may use (OpenMP).
    pub(crate) threads: u32,
}

/// Many short repeats: on a machine that it shares, a process of 100 ms nearly always finds a moment
/// for itself, and one of 2 ms fits into it. What else was tried: `benches/README.md`.
impl Default for Settings {
    fn default() -> Self {
        Self {
            cache: Cache::Warm,
            repeat: 50,
            max_repeat: 500,
            min_repeat_ms: 2.0,
            precision: 0.01,
            max_time_s: 5.0,
            timeout_build_s: 30.0,
            timeout_run_s: 10.0,
            threads: 1,
        }
    }
}

/// One kernel to build and to time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// Name of the program in the manifest.
    pub(crate) name: String,
    pub(crate) program: Program,
    /// The workload: `M = 512`, ...
    pub(crate) params: BTreeMap<String, i64>,
    /// The configuration. Workload and configuration are macros for the compiler (`-DTILE_M=8`).
    pub(crate) config: BTreeMap<String, i64>,
    pub(crate) arguments: Vec<Argument>,
    /// CUDA only.
    pub(crate) launch: Option<Launch>,
    pub(crate) check: Option<Check>,
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
}

/// One repeat: the mean of the calls in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeat {
    /// Nanoseconds of a call.
    pub(crate) wall_ns: f64,
    /// Nanoseconds of processor time of a call; `None` on a GPU.
    pub(crate) cpu_ns: Option<f64>,
    /// How often another process took the core meanwhile.
    pub(crate) involuntary_switches: u64,
    /// It began and ended on different cores.
    pub(crate) migrated: bool,
    /// Nothing slowed it, as far as can be told: the others are kept apart.
    pub(crate) counts: bool,
}

/// What came of a trial. A failure of the kernel is an outcome; a fault of the machine is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// TVM's MeasureErrorNo: 0 none, 1 instantiation, 2 compile host, 3 compile device, 4 runtime,
    /// 5 wrong answer, 6 build timeout, 7 run timeout, 8 unknown.
    pub(crate) error_no: i16,
    /// `<kind>: <what was said>`, e.g. `signal:11`, `cc: mm.c:3: error: ...`, `cuda:700: ...`.
    pub(crate) error_message: Option<String>,
    /// All repeats in order; empty where it failed.
    pub(crate) repeats: Vec<Repeat>,
    /// Calls in each repeat.
    pub(crate) number: u64,
    /// What was odd: `disturbed`, `migrated`, `not_converged`, `unsteady`, `below_clock_resolution`;
    /// `throttled`, `smt_sibling_busy`, `busy_machine`, `stolen`; `shared_gpu`, `batched` (events around
    /// many launches).
    pub(crate) flags: Vec<String>,
    /// Seconds for building, checking and timing.
    pub(crate) all_cost_s: f64,
    /// Largest error against the reference, in the metric of the check.
    pub(crate) check_error: Option<f64>,
}

impl Outcome {
    /// Seconds that the repeats took, whether they count or not.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^31 calls")]
    pub(crate) fn timed_s(&self) -> f64 {
        let each_ns: f64 = self.repeats.iter().map(|repeat| repeat.wall_ns).sum();
        each_ns * self.number as f64 / 1e9
    }
}
