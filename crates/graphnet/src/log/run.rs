//! Record of a benchmark log, with rules for its status and correctness.

use super::tolerance::{
    FIRST_TOLERANCE, LAST_TOLERANCE, parse_tolerances, tolerance, tolerance_key,
};

/// One timed repeat (`Trial 1: e2e=.. ms, gpu=.. ms`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// End-to-end time in milliseconds.
    pub e2e_ms: f64,
    /// GPU time in milliseconds; only printed for GPUs.
    pub gpu_ms: Option<f64>,
}

/// Trials of one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialBlock {
    /// Trials in the order of the log.
    pub trials: Vec<Trial>,
    /// Mean kernel time over the trials in milliseconds (`kernel=.. ms`).
    pub kernel_ms: Option<f64>,
}

/// Timing statistics of one side (`[Performance][eager]: {...}`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Performance {
    /// JSON text, verbatim.
    pub raw: String,
    /// Mean end-to-end time in milliseconds.
    pub e2e_mean: Option<f64>,
    /// Median end-to-end time in milliseconds; not in logs before 2026.
    pub(crate) e2e_median: Option<f64>,
    /// Mean GPU time in milliseconds.
    pub(crate) gpu_mean: Option<f64>,
    /// Median GPU time in milliseconds; not in logs before 2026.
    pub(crate) gpu_median: Option<f64>,
    /// Mean kernel time in milliseconds.
    pub(crate) kernel_mean: Option<f64>,
    /// Median kernel time in milliseconds.
    pub(crate) kernel_median: Option<f64>,
}

impl Performance {
    /// Statistics of a log that prints only a mean, in milliseconds.
    pub(super) fn from_mean(mean: f64) -> Self {
        Self {
            raw: format!("{{\"e2e\": {{\"mean\": {mean}}}}}"),
            e2e_mean: Some(mean),
            ..Self::default()
        }
    }
}

/// Marks that `detect_sample_status` of upstream's `analysis_util.py` looks for in the lines of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusMarks {
    /// `[Datatype][eager]` or an `all_close` line.
    pub eager: bool,
    /// `[Datatype][compiled]` or an `all_close` line.
    pub compiled: bool,
    /// `[Shape]` with `match:True` or an `all_close` line.
    pub shape: bool,
    /// `[DataType]` with `match:True`.
    pub datatype: bool,
}

/// One record of a log, from its first line (usually `[Processing]`) to the next record.
///
/// In a run on a second device "eager" is the reference device and "compiled" the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Line number of its first line, from 1.
    pub line: u64,
    /// Number of lines up to the next record or the end of the log.
    pub lines: u64,
    /// Path of the sample: last word of the `[Processing]` line; empty if there is none.
    pub model_path: String,
    /// `[Config] key: value` in the order of first occurrence; the last value of a repeated key counts.
    pub config: Vec<(String, String)>,
    /// Device of the first `[Profiling] Using device:` line, without the warm-up and trial counts.
    pub device: Option<String>,
    /// Trials of the eager or reference side.
    pub eager: TrialBlock,
    /// Trials of the compiled or target side.
    pub compiled: TrialBlock,
    /// Data types of the eager outputs.
    pub eager_datatypes: Vec<String>,
    /// Data types of the compiled outputs.
    pub compiled_datatypes: Vec<String>,
    /// `match:` of the `[DataType]` line.
    pub datatype_match: Option<bool>,
    /// Shapes of the eager outputs as a Python list (PaddlePaddle only).
    pub eager_shapes: Option<String>,
    /// Shapes of the compiled outputs as a Python list (PaddlePaddle only).
    pub compiled_shapes: Option<String>,
    /// `match:` of the `[Shape]` line.
    pub shape_match: Option<bool>,
    /// `[Correctness][key]:` with one value per output, in the order of first occurrence; the last values of a repeated
    /// key count.
    pub correctness: Vec<(String, Vec<f64>)>,
    /// Statistics of the eager or reference side.
    pub eager_performance: Option<Performance>,
    /// Statistics of the compiled or target side.
    pub compiled_performance: Option<Performance>,
    /// `[Speedup][e2e]`: eager over compiled end-to-end time.
    pub e2e_speedup: Option<f64>,
    /// `[Speedup][gpu]`: eager over compiled GPU time.
    pub gpu_speedup: Option<f64>,
    /// `[Speedup][kernel]`: eager over compiled kernel time.
    pub kernel_speedup: Option<f64>,
    /// `success` or `failed` of `[Result] status:` (PyTorch).
    pub result: Option<String>,
    /// Text of `[Result][status]`, as `eager:success compiled:failed` (PaddlePaddle).
    pub phases: Option<String>,
    /// Text of `[Fail due to ...]`, as `eager model execution error` (PyTorch).
    pub fail_due: Option<String>,
    /// Whether any line holds `Exception:` or `Error:`.
    pub(crate) has_error_line: bool,
    /// Marks of upstream's status rules.
    pub marks: StatusMarks,
    /// Whether the values of `[Correctness][equal]` were not all readable.
    pub(crate) equal_is_malformed: bool,
    /// Unreadable or unexpected parts, with line numbers.
    pub notes: Vec<(u64, String)>,
}

/// Maximum number of notes per record. It bounds the memory of garbage input.
const MAX_NOTES: usize = 1000;

impl Run {
    /// Adds a note. Notes after the first 1000 are dropped.
    pub fn note(&mut self, line: u64, reason: impl Into<String>) {
        match self.notes.len() {
            count if count < MAX_NOTES => self.notes.push((line, reason.into())),
            MAX_NOTES => self
                .notes
                .push((line, "further notes are dropped".to_owned())),
            _ => {}
        }
    }

    /// Returns the value of a `[Config]` key.
    pub fn config_value(&self, key: &str) -> Option<&str> {
        let entry = self.config.iter().find(|(name, _)| name == key);
        entry.map(|(_, value)| value.as_str())
    }

    /// Returns the values of a correctness key (without brackets).
    pub fn check_values(&self, key: &str) -> Option<&[f64]> {
        let entry = self.correctness.iter().find(|(name, _)| name == key);
        entry.map(|(_, values)| values.as_slice())
    }
}

/// Returns the status by the rules of `detect_sample_status` in upstream's `analysis_util.py`. The first match counts:
/// `eager_fail`, `compile_fail`, `shape_mismatch`, `type_mismatch`, `runtime_fail`, `correct`.
///
/// The rules ignore `[Result]` and `[Fail due to`.
pub fn upstream_status(run: &Run) -> &'static str {
    match run {
        run if !run.marks.eager => "eager_fail",
        run if !run.marks.compiled => "compile_fail",
        run if !run.marks.shape => "shape_mismatch",
        run if !run.marks.datatype => "type_mismatch",
        run if run.has_error_line => "runtime_fail",
        _ => "correct",
    }
}

/// Returns the status stated in the log: `eager_failed`, `compiled_failed`, `failed` (without a reason) or `success`;
/// `None` if it states none. A stated failure overrides a stated success.
///
/// Source: `[Result]` and `[Fail due to` lines of the test compilers.
pub fn stated_status(run: &Run) -> Option<&'static str> {
    let due = run.fail_due.as_deref().unwrap_or_default();
    let phases = run.phases.as_deref().unwrap_or_default();
    let result = run.result.as_deref().unwrap_or_default();
    if due.starts_with("eager") || phases.contains("eager:failed") {
        Some("eager_failed")
    } else if due.starts_with("compiled") || phases.contains("compiled:failed") {
        Some("compiled_failed")
    } else if result == "failed" || run.fail_due.is_some() {
        Some("failed")
    } else if result == "success" || phases.contains("eager:success") {
        Some("success")
    } else {
        None
    }
}

/// Returns the tolerance levels at which every output passes: bit `t + 10` for `t` from -10 to 5.
///
/// Output `i` below the number of `[equal]` values passes if the value under the key of the eager data type `i` is not
/// 0 (nan is not 0). A missing key, value or data type fails; without outputs all levels pass. If `[equal]` was not
/// fully readable, the outputs are counted by the data types if those are more. Source: `check_sample_correctness` in
/// `analysis_util.py`, without its check of the status.
///
/// Some logs name their comparisons by tolerances and state no data types. There, a level passes if comparisons that
/// are at least as strict passed for all floating-point types.
pub fn passing_tolerances(run: &Run) -> u32 {
    if run
        .correctness
        .iter()
        .any(|(key, _)| parse_tolerances(key).is_some())
    {
        return legacy_passing_tolerances(run);
    }
    let equal_count = run.check_values("equal").map_or(0, <[f64]>::len);
    let outputs = if run.equal_is_malformed {
        equal_count.max(run.eager_datatypes.len())
    } else {
        equal_count
    };
    let mut dtypes: Vec<&str> = run.eager_datatypes.iter().map(String::as_str).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    let mut bits = 0;
    for (bit, t) in (0_u32..).zip(FIRST_TOLERANCE..=LAST_TOLERANCE) {
        let values: Vec<Option<&[f64]>> = dtypes
            .iter()
            .map(|dtype| run.check_values(&tolerance_key(dtype, t)))
            .collect();
        let passed = (0..outputs).all(|output| {
            let dtype = run.eager_datatypes.get(output);
            let index = dtype.and_then(|dtype| dtypes.binary_search(&dtype.as_str()).ok());
            let values = index.and_then(|index| values.get(index).copied().flatten());
            values
                .and_then(|values| values.get(output))
                .is_some_and(|value| *value != 0.0)
        });
        if passed {
            bits |= 1 << bit;
        }
    }
    bits
}

/// Returns the tolerance levels at which every output of a record of 2025-08 passes, for all floating-point types.
fn legacy_passing_tolerances(run: &Run) -> u32 {
    const FLOATS: [&str; 4] = ["float16", "bfloat16", "float32", "float64"];
    let all = |values: &[f64]| values.iter().all(|value| *value != 0.0);
    let is_equal = run.check_values("equal").is_some_and(all) && !run.equal_is_malformed;
    let passed = run.correctness.iter().filter(|(_, values)| all(values));
    let passed: Vec<(f64, f64)> = passed
        .filter_map(|(key, _)| parse_tolerances(key))
        .collect();
    let mut bits = 0;
    for (bit, t) in (0_u32..).zip(FIRST_TOLERANCE..=LAST_TOLERANCE) {
        let is_passed = |dtype: &&str| {
            let (absolute, relative) = tolerance(dtype, t).unwrap_or_default();
            passed
                .iter()
                .any(|tolerances| tolerances.0 <= absolute && tolerances.1 <= relative)
        };
        if is_equal || FLOATS.iter().all(is_passed) {
            bits |= 1 << bit;
        }
    }
    bits
}
