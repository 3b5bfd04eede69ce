//! One measurement with everything bound: what is built, what it is called with, how it is timed,
//! and what came of it. All of it travels as JSON between the process that plans and the one that runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a kernel is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C, as the system's compiler takes it.
    C,
    /// C++.
    #[serde(rename = "c++")]
    Cxx,
    /// CUDA C++.
    Cuda,
}

/// Type of the elements of a buffer, or of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE double.
    F64,
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// The upper half of a single.
    Bf16,
    /// 8 bytes, signed.
    I64,
    /// 4 bytes, signed.
    I32,
    /// 2 bytes, signed.
    I16,
    /// 1 byte, signed.
    I8,
    /// 1 byte, unsigned.
    U8,
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It reads it.
    In,
    /// It writes all of it, and reads nothing.
    Out,
    /// It reads and writes it.
    InOut,
}

/// What a buffer that is read holds, from the trial's seed. Outputs are poisoned instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// Evenly distributed between the two; for integers both ends can occur.
    Uniform {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// The same everywhere.
    Constant {
        /// What is everywhere.
        value: f64,
    },
    /// 0, 1, 2, ... modulo `modulus`.
    Count {
        /// Above 0.
        modulus: i64,
    },
}

/// A value that is passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// For integer types.
    Integer(i64),
    /// For types of floating point.
    Float(f64),
}

/// An argument of the kernel, in the order of its C signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Argument {
    /// A pointer to elements.
    Buffer {
        /// Its name in the manifest.
        name: String,
        /// Type of its elements.
        dtype: Dtype,
        /// Numbers of elements, slowest dimension first.
        shape: Vec<u64>,
        /// What the kernel does with it.
        role: Role,
        /// What it holds before the first call.
        init: Init,
    },
    /// A number.
    Scalar {
        /// Its name in the manifest.
        name: String,
        /// Its type.
        dtype: Dtype,
        /// The number.
        value: Value,
    },
}

/// A source file: the name under which the compiler sees it, and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path below the folder where it is compiled.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// What is compiled: sources, the function to call, and the compiler's flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What all sources are written in.
    pub language: Language,
    /// The first is compiled; the others lie beside it (headers), or are compiled too (`.c`, `.cc`, `.cpp`).
    pub sources: Vec<Source>,
    /// The function to call.
    pub entry: String,
    /// The compiler's flags.
    pub flags: Vec<String>,
}

/// How many threads a CUDA kernel is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Blocks: x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// How outputs are compared with those of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// `|x - r|_2 / |r|_2` of each output is at most `rtol` (or `|x - r|_2` at most `atol`).
    RelL2,
    /// Each element: `|x - r| <= atol + rtol * |r|`.
    Elementwise,
}

/// The reference: C or C++ with the same arguments, run on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What computes the right outputs.
    pub reference: Program,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// How outputs are compared.
    pub metric: Metric,
}

/// What caches hold before a call that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What the call before left there.
    Warm,
    /// Nothing of the arguments: they are flushed before every call.
    Cold,
}

/// How it is timed. Part of the environment that a record names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What caches hold before a call.
    pub cache: Cache,
    /// Repeats at least; each is the mean of as many calls as take `min_repeat_ms`.
    pub repeat: u32,
    /// Repeats at most, where their median is not precise before.
    pub max_repeat: u32,
    /// Milliseconds of a repeat at least.
    pub min_repeat_ms: f64,
    /// Half of the median's 95 % confidence interval over the median, at which timing ends.
    pub precision: f64,
    /// Seconds after which timing ends in any case.
    pub max_time_s: f64,
    /// Seconds that building may take.
    pub timeout_build_s: f64,
    /// Seconds that checking and timing may take.
    pub timeout_run_s: f64,
    /// Threads that the kernel may use (OpenMP).
    pub threads: u32,
}

/// Many short repeats: on a machine that it shares, a process of 100 ms nearly always finds a moment
/// for itself, and one of 2 ms fits into it. What else was tried: `docs/dev/decisions/013-measuring-repeats.md`.
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
pub struct Trial {
    /// Name of the program in the manifest.
    pub name: String,
    /// What is built.
    pub program: Program,
    /// The workload: `M = 512`, ...
    pub params: BTreeMap<String, i64>,
    /// The configuration. Workload and configuration are macros for the compiler (`-DTILE_M=8`).
    pub config: BTreeMap<String, i64>,
    /// In the order of the C signature.
    pub arguments: Vec<Argument>,
    /// CUDA only.
    pub launch: Option<Launch>,
    /// What outputs are compared with; `None` where they are not.
    pub check: Option<Check>,
    /// How it is timed.
    pub settings: Settings,
    /// What the values of inputs are drawn from.
    pub seed: u64,
}

/// One repeat: the mean of the calls in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Nanoseconds of a call.
    pub wall_ns: f64,
    /// Nanoseconds of processor time of a call; `None` on a GPU.
    pub cpu_ns: Option<f64>,
    /// How often another process took the core meanwhile.
    pub involuntary_switches: u64,
    /// It began and ended on different cores.
    pub migrated: bool,
    /// Nothing slowed it, as far as can be told: the others are kept apart.
    pub counts: bool,
}

/// What came of a trial. A failure of the kernel is an outcome; a fault of the machine is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// TVM's MeasureErrorNo: 0 none, 1 instantiation, 2 compile host, 3 compile device, 4 runtime,
    /// 5 wrong answer, 6 build timeout, 7 run timeout, 8 unknown.
    pub error_no: i16,
    /// `<kind>: <what was said>`, e.g. `signal:11`, `cc: mm.c:3: error: ...`, `cuda:700: ...`.
    pub error_message: Option<String>,
    /// All repeats in order; empty where it failed.
    pub repeats: Vec<Repeat>,
    /// Calls in each repeat.
    pub number: u64,
    /// What was odd: `disturbed`, `migrated`, `not_converged`, `unsteady`, `below_clock_resolution`;
    /// `throttled`, `smt_sibling_busy`, `busy_machine`, `stolen`; `shared_gpu`, `batched` (events around
    /// many launches).
    pub flags: Vec<String>,
    /// Seconds for building, checking and timing.
    pub all_cost_s: f64,
    /// Largest error against the reference, in the metric of the check.
    pub check_error: Option<f64>,
}

impl Outcome {
    /// Seconds that the repeats took, whether they count or not.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^31 calls")]
    pub fn timed_s(&self) -> f64 {
        let each_ns: f64 = self.repeats.iter().map(|repeat| repeat.wall_ns).sum();
        each_ns * self.number as f64 / 1e9
    }
}
