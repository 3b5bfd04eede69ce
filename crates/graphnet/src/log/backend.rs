//! Logs of tools that run a sample under one backend after the other and compare both: upstream's
//! `eval_backend_diff.py`, and `eval_backend_perf.py` for a single backend.
//!
//! ```text
//! [0] eval_backend_diff, model_path: /samples/timm/x           only if several samples are compared
//! Log path: /tmp/eval_perf_diff/reference/x.log                the log of the reference follows
//! graph-net-bench-log [Config] model: x
//! graph-net-bench-log [Result][status] eager:success
//! graph-net-bench-log [Performance][eager]: {...}
//! Log path: /tmp/eval_perf_diff/target/x.log                   the log of the target, which has the tag `eager`, too
//! ...
//! graph-net-bench-log [Datatype][eager]: float32               the comparison
//! graph-net-bench-log [Performance][eager]: {...}
//! graph-net-bench-log [Performance][compiled]: {...}
//! Totally 2 verified samples, failed 1 samples.
//! - /samples/timm/y
//! ```
//!
//! No line has the tag `[Processing]`. A record begins with its header, else with the log path of its first side, else
//! with its `[Config] model`.

/// State of a backend record that is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct BackendRecord {
    /// A header names the sample, so the second side is the target.
    pub(super) has_header: bool,
    /// Log path of the first side.
    pub(super) log_path: Option<String>,
    /// The last log path names the same sample in another folder, which is the target.
    pub(super) is_target_next: bool,
    /// Number of `[Config] model` lines.
    pub(super) sides: usize,
    /// A line of the comparison was read.
    pub(super) is_compared: bool,
}

impl BackendRecord {
    /// Whether the next `[Config] model` belongs to the target.
    pub(super) fn awaits_target(&self) -> bool {
        self.sides == 1 && (self.has_header || self.is_target_next)
    }

    /// Whether a log with this path belongs to the target of this record.
    pub(super) fn is_target(&self, log_path: &str) -> bool {
        let first = self.log_path.as_deref().map(split_path);
        let (folder, name) = split_path(log_path);
        first.is_some_and(|(first_folder, first_name)| first_folder != folder && first_name == name)
    }
}

/// Returns folder and name of a path.
fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the sample path of a header: `[0] eval_backend_diff, model_path: /samples/timm/x`.
pub(super) fn parse_header(line: &str) -> Option<&str> {
    let (number, rest) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let (tool, path) = rest.split_once(", model_path: ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Other tools print the same line together with `[Processing]`.
    (is_number && tool.starts_with("eval_backend") && !path.is_empty()).then_some(path)
}

/// Returns the path of a line that announces the log of one side.
pub(super) fn parse_log_path(line: &str) -> Option<&str> {
    line.strip_prefix("Log path: ").map(str::trim)
}

/// Whether a line counts the samples of a log. The failed samples follow, one path per line after `- `.
pub(super) fn is_summary(line: &str) -> bool {
    line.starts_with("Totally ") && line.contains(" verified samples, failed ")
}
