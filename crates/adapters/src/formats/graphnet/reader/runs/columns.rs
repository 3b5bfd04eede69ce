//! Converts benchmark runs to Arrow columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Float64Builder, Int16Array, Int32Array,
    ListBuilder, StringArray,
};
use tsql_codecs::identity::{ProgramHash, environment_id, graph_id};
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats;
use tsql_formats::graphnet::log::{
    Run, TrialBlock, passing_tolerances, stated_status, upstream_status,
};
use tsql_formats::graphnet::{NAME, sample_key};
use tsql_schema::column::arrays::{Columns, int64_array, repeat_text, text_array};

/// Decimal places between milliseconds and seconds.
const MILLI_PLACES: i32 = 3;

/// TVM's error number for failures without a number of their own.
const UNKNOWN_ERROR: i16 = 8;

/// Keys of `[Config]` that describe the machine, not the compiler.
const MACHINE: [&str; 3] = ["model", "device", "hardware"];

/// A run with the identifiers that it refers to.
pub(super) struct RunRow {
    pub(super) source_id: i64,
    pub(super) graph_id: i64,
    pub(super) environment_id: i64,
    /// Hash of [`RunRow::steps`].
    pub(super) program: ProgramHash,
    /// The compiler and its options, as JSON.
    pub(super) steps: String,
    /// Device and hardware name.
    pub(super) target: String,
    pub(super) framework_version: String,
    pub(super) run: Run,
    /// Part of the log text that the other columns do not restore. `None` if the log is stored as text.
    pub(super) text: Option<Vec<u8>>,
}

/// Key of a graph that a log only identifies by path.
pub(super) fn graph_key(model_path: &str) -> String {
    format!("sample:{}", sample_key(model_path))
}

/// Formats entries as a JSON object, in order.
fn object<'a>(entries: impl Iterator<Item = &'a (String, String)>) -> String {
    let quoted = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let entries = entries.map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

impl RunRow {
    pub(super) fn new(run: Run, source_id: i64, text: Option<Vec<u8>>) -> Self {
        let said = |wanted: &str| {
            let found = run.config.iter().find(|(key, _)| key == wanted);
            found.map(|(_, value)| value.as_str())
        };
        let target = [said("device"), said("hardware")];
        let target: Vec<&str> = target.into_iter().flatten().collect();
        let target = match target.join(" ") {
            target if target.is_empty() => "unknown".to_owned(),
            target => target,
        };
        let version = said("compile_framework_version").unwrap_or("unknown");
        let framework_version = version.to_owned();
        let steps = run.config.iter();
        let steps = object(steps.filter(|(key, _)| !MACHINE.contains(&key.as_str())));
        Self {
            source_id,
            graph_id: graph_id(NAME, &graph_key(&run.model_path)),
            environment_id: environment_id(NAME, &format!("{target}\n{framework_version}")),
            program: ProgramHash::from_steps(steps.as_bytes()),
            steps,
            target,
            framework_version,
            run,
            text,
        }
    }

    /// Mean, count and packed repeats of the compiled trials.
    fn timing(&self) -> (Option<f64>, i32, Option<Vec<u8>>) {
        let seconds = self.run.compiled.trials.iter().map(|trial| {
            let cost = Decimal::from_f64(trial.e2e_ms)?;
            let exponent = cost.exponent - MILLI_PLACES;
            Some(Decimal { exponent, ..cost })
        });
        let seconds: Option<Vec<Decimal>> = seconds.collect();
        let packed = seconds.as_deref().and_then(repeats::pack);
        match packed {
            Some(packed) => {
                let count = i32::try_from(self.run.compiled.trials.len());
                (
                    Some(packed.runtime_ns),
                    count.unwrap_or(i32::MAX),
                    packed.bytes,
                )
            }
            None => match mean_ns(self.run.compiled_performance.as_ref()) {
                Some(mean) => (Some(mean), 1, None),
                None => (None, 0, None),
            },
        }
    }

    fn baseline_ns(&self) -> Option<f64> {
        mean_ns(self.run.eager_performance.as_ref())
    }

    fn error(&self) -> Option<String> {
        let stated = stated_status(&self.run).filter(|status| *status != "success");
        let due = self.run.fail_due.clone();
        due.or_else(|| stated.map(|status| status.replace('_', " ")))
    }

    fn error_no(&self) -> i16 {
        if self.error().is_some() {
            UNKNOWN_ERROR
        } else {
            0
        }
    }
}

fn mean_ns(performance: Option<&tsql_formats::graphnet::log::Performance>) -> Option<f64> {
    Decimal::from_f64(performance?.e2e_mean?).map(|mean| mean.to_f64(9 - MILLI_PLACES))
}

/// Rows of `graphs` for graphs that logs mention: identifiers and keys.
pub(super) fn graph_columns(rows: &[&(i64, String)]) -> Columns {
    let keys = rows.iter().map(|(_, key)| key);
    BTreeMap::from([
        ("graph_id", int64_array(rows.iter().map(|(id, _)| *id))),
        ("dataset", repeat_text(NAME, rows.len())),
        ("workload_key", text_array(keys)),
        ("kind", repeat_text("reference", rows.len())),
    ])
}

/// Rows of `environments`: identifiers, each with target and framework version.
pub(super) fn environment_columns(rows: &[&(i64, (&str, &str))]) -> Columns {
    BTreeMap::from([
        (
            "environment_id",
            int64_array(rows.iter().map(|(id, _)| *id)),
        ),
        ("dataset", repeat_text(NAME, rows.len())),
        (
            "target",
            text_array(rows.iter().map(|(_, (target, _))| target)),
        ),
        (
            "log_version",
            text_array(rows.iter().map(|(_, (_, version))| version)),
        ),
        ("writer", repeat_text(NAME, rows.len())),
    ])
}

/// Rows of `records` with these configuration numbers.
pub(super) fn record_columns(rows: &[&RunRow], configs: Vec<i64>) -> Columns {
    let timings: Vec<_> = rows.iter().map(|row| row.timing()).collect();
    let runtimes: Float64Array = timings.iter().map(|timing| timing.0).collect();
    let counts = timings.iter().map(|timing| timing.1);
    let repeats: BinaryArray = timings.iter().map(|timing| timing.2.as_deref()).collect();
    let errors = rows.iter().map(|row| row.error_no());
    let messages: StringArray = rows.iter().map(|row| row.error()).collect();
    let baselines: Float64Array = rows.iter().map(|row| row.baseline_ns()).collect();
    BTreeMap::from([
        ("graph_id", int64_array(rows.iter().map(|row| row.graph_id))),
        ("config_id", int64_array(configs)),
        ("runtime_ns", Arc::new(runtimes)),
        (
            "repeat_count",
            Arc::new(Int32Array::from_iter_values(counts)),
        ),
        ("repeats", Arc::new(repeats)),
        ("error_no", Arc::new(Int16Array::from_iter_values(errors))),
        ("error_message", Arc::new(messages)),
        ("baseline_ns", Arc::new(baselines)),
        (
            "environment_id",
            int64_array(rows.iter().map(|row| row.environment_id)),
        ),
        (
            "source_id",
            int64_array(rows.iter().map(|row| row.source_id)),
        ),
        (
            "line",
            int64_array(rows.iter().map(|row| row.run.line.cast_signed())),
        ),
    ])
}

/// Rows of `runs`.
pub(super) fn run_columns(rows: &[&RunRow]) -> Columns {
    let text = |text: fn(&Run) -> Option<String>| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| text(&row.run))
                .collect::<StringArray>(),
        )
    };
    let float = |number: fn(&Run) -> Option<f64>| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| number(&row.run))
                .collect::<Float64Array>(),
        )
    };
    let flag = |flag: fn(&Run) -> Option<bool>| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| flag(&row.run))
                .collect::<BooleanArray>(),
        )
    };
    let small = |number: fn(&Run) -> i32| -> ArrayRef {
        let numbers = rows.iter().map(|row| number(&row.run));
        Arc::new(Int32Array::from_iter_values(numbers))
    };
    let number = |number: fn(&Run) -> u64| {
        int64_array(rows.iter().map(|row| number(&row.run).cast_signed()))
    };
    let words = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
    BTreeMap::from([
        (
            "source_id",
            int64_array(rows.iter().map(|row| row.source_id)),
        ),
        ("line", number(|run| run.line)),
        ("line_count", number(|run| run.lines)),
        ("model_path", text(|run| Some(run.model_path.clone()))),
        ("config", text(|run| Some(object(run.config.iter())))),
        ("status", text(|run| stated_status(run).map(str::to_owned))),
        (
            "upstream_status",
            text(|run| Some(upstream_status(run).to_owned())),
        ),
        ("error", text(|run| run.fail_due.clone())),
        ("passes", small(|run| passing_tolerances(run).cast_signed())),
        ("speedup", float(|run| run.e2e_speedup)),
        ("speedup_gpu", float(|run| run.gpu_speedup)),
        ("speedup_kernel", float(|run| run.kernel_speedup)),
        (
            "output_count",
            small(|run| {
                i32::try_from(run.check_values("equal").map_or(0, <[f64]>::len)).unwrap_or(i32::MAX)
            }),
        ),
        ("eager_datatypes", {
            let texts = rows.iter().map(|row| words(&row.run.eager_datatypes));
            Arc::new(texts.collect::<StringArray>()) as ArrayRef
        }),
        ("compiled_datatypes", {
            let texts = rows.iter().map(|row| words(&row.run.compiled_datatypes));
            Arc::new(texts.collect::<StringArray>())
        }),
        ("datatypes_match", flag(|run| run.datatype_match)),
        ("eager_shapes", text(|run| run.eager_shapes.clone())),
        ("compiled_shapes", text(|run| run.compiled_shapes.clone())),
        ("shapes_match", flag(|run| run.shape_match)),
        (
            "eager_e2e_ms",
            trials(rows, |run| &run.eager, |trial| Some(trial.e2e_ms)),
        ),
        (
            "eager_gpu_ms",
            trials(rows, |run| &run.eager, |trial| trial.gpu_ms),
        ),
        (
            "compiled_e2e_ms",
            trials(rows, |run| &run.compiled, |trial| Some(trial.e2e_ms)),
        ),
        (
            "compiled_gpu_ms",
            trials(rows, |run| &run.compiled, |trial| trial.gpu_ms),
        ),
        ("eager_kernel_ms", float(|run| run.eager.kernel_ms)),
        ("compiled_kernel_ms", float(|run| run.compiled.kernel_ms)),
        (
            "eager_performance",
            text(|run| Some(run.eager_performance.as_ref()?.raw.clone())),
        ),
        (
            "compiled_performance",
            text(|run| Some(run.compiled_performance.as_ref()?.raw.clone())),
        ),
        ("notes", text(notes)),
        ("check_keys", text(check_keys)),
        ("check_values", text(check_values)),
        ("text", {
            let texts = rows.iter().map(|row| row.text.as_deref());
            Arc::new(texts.collect::<BinaryArray>())
        }),
    ])
}

/// Trial times of one side. NULL if there are none, or if one lacks this time.
fn trials(
    rows: &[&RunRow],
    side: fn(&Run) -> &TrialBlock,
    time: fn(&tsql_formats::graphnet::log::Trial) -> Option<f64>,
) -> ArrayRef {
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in rows {
        let times: Option<Vec<f64>> = side(&row.run).trials.iter().map(time).collect();
        let times = times.filter(|times| !times.is_empty());
        lists.append_option(times.map(|times| times.into_iter().map(Some)));
    }
    Arc::new(lists.finish())
}

fn notes(run: &Run) -> Option<String> {
    let lines = run.notes.iter();
    let lines: String = lines
        .map(|(line, reason)| format!("{line}: {reason}\n"))
        .collect();
    (!lines.is_empty()).then_some(lines)
}

fn check_keys(run: &Run) -> Option<String> {
    let keys: String = run
        .correctness
        .iter()
        .map(|(key, _)| format!("{key}\n"))
        .collect();
    (!keys.is_empty()).then_some(keys)
}

fn check_values(run: &Run) -> Option<String> {
    let mut text = String::new();
    for (_, values) in &run.correctness {
        for (place, value) in values.iter().enumerate() {
            let blank = if place > 0 { " " } else { "" };
            let _ = write!(text, "{blank}{value}");
        }
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}
