//! A trial: one measurement with all values bound, its settings, and its outcome.
//!
//! All types are serialized as JSON between the planning process and the running one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Language of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C, compiled by the system's compiler.
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

/// Use of a buffer by a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Only read.
    In,
    /// Completely written, never read.
    Out,
    /// Read and written.
    InOut,
}

/// Initial contents of a buffer that is read, derived from the trial's seed. Outputs are poisoned instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// Uniformly distributed; for integers both bounds are included.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// One value for all elements.
    Constant {
        /// The value.
        value: f64,
    },
    /// 0, 1, 2, ... modulo `modulus`.
    Count {
        /// Modulus, above 0.
        modulus: i64,
    },
}

/// A scalar argument.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Value of an integer type.
    Integer(i64),
    /// Value of a floating-point type.
    Float(f64),
}

/// An argument of a kernel, in the order of its C signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Argument {
    /// A pointer to a buffer.
    Buffer {
        /// Name in the manifest.
        name: String,
        /// Type of the elements.
        dtype: Dtype,
        /// Number of elements per dimension, slowest dimension first.
        shape: Vec<u64>,
        /// Use by the kernel.
        role: Role,
        /// Contents before the first call.
        init: Init,
    },
    /// A scalar.
    Scalar {
        /// Name in the manifest.
        name: String,
        /// Type.
        dtype: Dtype,
        /// Value.
        value: Value,
    },
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path below the build folder.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// A program to compile: sources, entry function, and compiler flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Language of all sources.
    pub language: Language,
    /// Source files. The first is compiled; the others are headers, or are compiled, too (`.c`, `.cc`,
    /// `.cpp`).
    pub sources: Vec<Source>,
    /// Name of the function to call.
    pub entry: String,
    /// Flags of the compiler.
    pub flags: Vec<String>,
}

/// Launch shape of a CUDA kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Number of blocks: x, y, z.
    pub grid: [u32; 3],
    /// Threads per block: x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
}

/// Comparison of outputs with those of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Relative L2 norm of each output: `|x - r|_2 / |r|_2 <= rtol` (or `|x - r|_2 <= atol`).
    RelL2,
    /// Each element: `|x - r| <= atol + rtol * |r|`.
    Elementwise,
}

/// A reference to compare with: C or C++ with the same arguments, run on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Program that computes the expected outputs.
    pub reference: Program,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Comparison of the outputs.
    pub metric: Metric,
}

/// State of the caches before a timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// As the previous call left them.
    Warm,
    /// Without the arguments, which are flushed before every call.
    Cold,
}

/// Settings of a measurement. Part of a record's environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// State of the caches before a call.
    pub cache: Cache,
    /// Minimum repeats; each is the mean of as many calls as take `min_repeat_ms`.
    pub repeat: u32,
    /// Maximum repeats, if their median is not precise before.
    pub max_repeat: u32,
    /// Minimum duration of a repeat, in milliseconds.
    pub min_repeat_ms: f64,
    /// Precision at which timing ends: half of the median's 95 % confidence interval, relative to the
    /// median.
    pub precision: f64,
    /// Maximum duration of timing, in seconds.
    pub max_time_s: f64,
    /// Time limit of a build, in seconds.
    pub timeout_build_s: f64,
    /// Time limit of checking and timing, in seconds.
    pub timeout_run_s: f64,
    /// Number of threads that the kernel may use (OpenMP).
    pub threads: u32,
}

/// Many short repeats. On a shared machine, a process of 100 ms nearly always gets an undisturbed moment,
/// and a repeat of 2 ms fits into it. Alternatives tested: `docs/dev/decisions/013-measuring-repeats.md`.
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

/// One kernel to build and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Name of the program in the manifest.
    pub name: String,
    /// Program to build.
    pub program: Program,
    /// Sizes of the workload: `M = 512`, ...
    pub params: BTreeMap<String, i64>,
    /// Configuration. Workload and configuration are macros for the compiler (`-DTILE_M=8`).
    pub config: BTreeMap<String, i64>,
    /// Arguments in the order of the C signature.
    pub arguments: Vec<Argument>,
    /// Launch shape, for CUDA only.
    pub launch: Option<Launch>,
    /// Check of the outputs; `None` if they are not compared.
    pub check: Option<Check>,
    /// Timing settings.
    pub settings: Settings,
    /// Seed of the input values.
    pub seed: u64,
}

/// One repeat: the mean of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Wall time per call, in ns.
    pub wall_ns: f64,
    /// Processor time per call, in ns; `None` on a GPU.
    pub cpu_ns: Option<f64>,
    /// Number of times that another process took the core.
    pub involuntary_switches: u64,
    /// Whether it began and ended on different cores.
    pub migrated: bool,
    /// Whether it counts, because no disturbance was detected. The others are stored separately.
    pub counts: bool,
}

/// Result of a trial. A failure of the kernel is an outcome; a fault of the machine is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// TVM's `MeasureErrorNo`: 0 none, 1 instantiation, 2 compile host, 3 compile device, 4 runtime, 5
    /// wrong answer, 6 build timeout, 7 run timeout, 8 unknown.
    pub error_no: i16,
    /// `<kind>: <message>`, e.g. `signal:11`, `cc: mm.c:3: error: ...`, `cuda:700: ...`.
    pub error_message: Option<String>,
    /// All repeats in order; empty for a failure.
    pub repeats: Vec<Repeat>,
    /// Calls per repeat.
    pub number: u64,
    /// Quality flags: `disturbed`, `migrated`, `not_converged`, `unsteady`, `below_clock_resolution`;
    /// `throttled`, `smt_sibling_busy`, `busy_machine`, `stolen`; `shared_gpu`, `batched` (events around
    /// many launches).
    pub flags: Vec<String>,
    /// Seconds for building, checking and timing together.
    pub all_cost_s: f64,
    /// Largest error against the reference, in the metric of the check.
    pub check_error: Option<f64>,
}

impl Outcome {
    /// Total duration of all repeats in seconds, including those that do not count.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^31 calls")]
    pub fn timed_s(&self) -> f64 {
        let each_ns: f64 = self.repeats.iter().map(|repeat| repeat.wall_ns).sum();
        each_ns * self.number as f64 / 1e9
    }
}
