//! Logs of the tools that run a sample under one backend after the other and compare both: upstream's
//! `eval_backend_diff.py` and, for one backend alone, `eval_backend_perf.py`.
//!
//! ```text
//! [0] eval_backend_diff, model_path: /samples/timm/x           only where several samples are compared
//! Log path: /tmp/eval_perf_diff/reference/x.log                the log of the reference follows
//! graph-net-bench-log [Config] model: x
//! graph-net-bench-log [Result][status] eager:success
//! graph-net-bench-log [Performance][eager]: {...}
//! Log path: /tmp/eval_perf_diff/target/x.log                   that of the target, which says `eager`, too
//! ...
//! graph-net-bench-log [Datatype][eager]: float32               the comparison
//! graph-net-bench-log [Performance][eager]: {...}
//! graph-net-bench-log [Performance][compiled]: {...}
//! Totally 2 verified samples, failed 1 samples.
//! - /samples/timm/y
//! ```
//!
//! No line says `[Processing]`: a record begins with its header, else with the path of the log of its first side, else
//! with its `[Config] model`.

/// What is known of a record of such a log while its lines come in.
#[derive(Clone, Debug, Default)]
pub(super) struct Backend {
    /// A header names the sample, so that a second side is that of the target.
    pub(super) has_header: bool,
    /// Where the tool wrote the log of the first side.
    pub(super) log_path: Option<String>,
    /// The log of the same sample in another folder: the target's.
    pub(super) is_target_next: bool,
    /// Number of `[Config] model` lines.
    pub(super) sides: usize,
    /// A line of the comparison was read.
    pub(super) is_compared: bool,
}

impl Backend {
    /// Whether the next `[Config] model` is that of the target.
    pub(super) fn awaits_target(&self) -> bool {
        self.sides == 1 && (self.has_header || self.is_target_next)
    }

    /// Whether a log with this path is that of the target of this record.
    pub(super) fn is_target(&self, log_path: &str) -> bool {
        let own = self.log_path.as_deref().map(split);
        let (folder, name) = split(log_path);
        own.is_some_and(|(own_folder, own_name)| own_folder != folder && own_name == name)
    }
}

/// Returns folder and name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the path of the sample that a header names: `[0] eval_backend_diff, model_path: /samples/timm/x`.
pub(super) fn header(line: &str) -> Option<&str> {
    let (number, rest) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let (tool, path) = rest.split_once(", model_path: ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Other tools print the same line, and `[Processing]` beside it.
    (is_number && tool.starts_with("eval_backend") && !path.is_empty()).then_some(path)
}

/// Returns the path of the log of a side, of which a line says that its text follows.
pub(super) fn log_path(line: &str) -> Option<&str> {
    line.strip_prefix("Log path: ").map(str::trim)
}

/// Whether a line counts the samples of a log; those that failed follow, each with `- ` before its path.
pub(super) fn is_summary(line: &str) -> bool {
    line.starts_with("Totally ") && line.contains(" verified samples, failed ")
}
