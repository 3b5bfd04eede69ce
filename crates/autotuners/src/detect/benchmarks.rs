//! Detection of result files of general benchmark tools.

use crate::format::{Detected, Format, NoRecords};
use crate::json::parse;
use crate::text::split_cells;
use crate::value::{Number, Value};

use super::probe::Probe;

/// Maximum size of `tukey.json` of Criterion: four numbers.
const FENCES_BYTES: usize = 256;

/// Maximum number of rows of a table that are looked at.
const MAX_ROWS: usize = 64;

/// Fields of `machine.json` of asv.
const ASV_MACHINE: [&str; 7] = ["arch", "cpu", "machine", "num_cpu", "os", "ram", "version"];

/// Detects an object by its first fields.
pub(super) fn object(probe: &Probe<'_>) -> Option<Detected> {
    let all = |names: &[&str]| names.iter().all(|name| probe.has(name));
    let format = if probe.value("context").is_some_and(is_google_context) && probe.has("benchmarks")
    {
        Format::GoogleBenchmark
    } else if all(&["machine_info", "commit_info"]) {
        Format::PytestBenchmark
    } else if probe.has("HostEnvironmentInfo") && probe.has("Benchmarks") {
        Format::BenchmarkDotNet
    } else if probe.only(&["results"])
        && probe.mentions("\"command\"")
        && probe.mentions("\"mean\"")
    {
        Format::Hyperfine
    } else if all(&["commit_hash", "params", "results"]) {
        Format::Asv
    } else if all(&["commit_hash", "params"]) {
        return Some(Detected::NoRecords(NoRecords::AsvWithoutResults));
    } else if is_asv_machine(probe)
        || (probe.mentions("\"param_names\"") && probe.mentions("\"code\""))
    {
        Format::AsvPart
    } else if probe.has("reason") && probe.mentions("\"benchmark-complete\"") {
        Format::CargoCriterion
    } else if all(&["iters", "times"]) && probe.only(&["sampling_mode", "iters", "times"]) {
        Format::CriterionSample
    } else if all(&["group_id", "full_id", "directory_name"])
        || probe
            .value("mean")
            .is_some_and(|mean| mean.get("point_estimate").is_some())
    {
        Format::CriterionPart
    } else if probe.has("entries") && probe.mentions("\"benches\"") {
        Format::GithubAction
    } else {
        return None;
    };
    Some(Detected::Format(format))
}

/// Returns whether an object describes a machine of asv.
fn is_asv_machine(probe: &Probe<'_>) -> bool {
    probe.has("machine") && probe.has("version") && probe.only(&ASV_MACHINE)
}

fn is_google_context(context: &Value) -> bool {
    let names = ["num_cpus", "mhz_per_cpu", "library_build_type"];
    names.iter().any(|name| context.get(name).is_some())
}

/// Detects a list of objects, or the fences of Criterion.
pub(super) fn list(beginning: &[u8]) -> Option<Detected> {
    let mentions = |text: &str| {
        let text = text.as_bytes();
        beginning.windows(text.len()).any(|window| window == text)
    };
    let format = if mentions("\"primaryMetric\"") && mentions("\"jmhVersion\"") {
        Format::Jmh
    } else if mentions("\"benchmark_values\"") && mentions("\"metric\"") {
        Format::PytorchDashboard
    } else if is_fences(beginning) {
        Format::CriterionPart
    } else {
        return None;
    };
    Some(Detected::Format(format))
}

/// Returns whether a document is a list of four ascending numbers.
fn is_fences(document: &[u8]) -> bool {
    if document.len() > FENCES_BYTES {
        return false;
    }
    let list = parse(document).ok();
    let Some([a, b, c, d]) = list.as_ref().and_then(Value::as_list) else {
        return false;
    };
    let numbers = [a, b, c, d].map(|value| value.as_number().map(Number::value));
    let [Some(a), Some(b), Some(c), Some(d)] = numbers else {
        return false;
    };
    a <= b && b <= c && c <= d
}

/// Detects a table by its header, and one of `perf_report` by its numbers.
pub(super) fn table(header: &[&str]) -> Option<Format> {
    let has = |name: &str| header.contains(&name);
    let is_operator_benchmark = || {
        let [framework, _, case, tag, backward, time] = header else {
            return false;
        };
        *framework == "Benchmarking Framework"
            && [*case, *tag, *backward, *time]
                == ["Case Name", "tag", "run_backward", "Execution Time"]
    };
    if has("kernel_name") && has("kernel_provider") && has("y_value_50") {
        Some(Format::Liger)
    } else if is_operator_benchmark() {
        Some(Format::OperatorBenchmark)
    } else if has("M") && has("N") && has("K") && has("tilelang_ms") {
        Some(Format::Tilelang)
    } else {
        None
    }
}

/// Returns whether all rows of a table are decimal numbers as `perf_report` writes them, sizes included.
pub(super) fn is_perf_report(beginning: &[u8]) -> bool {
    let complete = beginning.iter().rposition(|byte| *byte == b'\n');
    let complete = beginning
        .get(..complete.unwrap_or_default())
        .unwrap_or_default();
    let mut rows = complete
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let Some(Ok(header)) = rows.next().map(split_cells) else {
        return false;
    };
    let is_name = |cell: &String| !cell.trim().is_empty() && Number::parse(cell).is_none();
    if header.len() < 2 || !header.iter().all(is_name) {
        return false;
    }
    let mut count = 0;
    for row in rows.take(MAX_ROWS).filter(|row| !row.is_empty()) {
        let Ok(cells) = split_cells(row) else {
            return false;
        };
        let is_decimal = |cell: &String| cell.contains('.') && Number::parse(cell).is_some();
        let is_value = |cell: &String| cell.is_empty() || cell == "nan" || is_decimal(cell);
        if cells.len() != header.len()
            || !cells.first().is_some_and(is_decimal)
            || !cells.iter().all(is_value)
        {
            return false;
        }
        count += 1;
    }
    count > 0
}

/// Returns whether a script defines the history of github-action-benchmark.
pub(super) fn is_history_script(beginning: &[u8]) -> bool {
    beginning
        .trim_ascii_start()
        .starts_with(b"window.BENCHMARK_DATA")
}
