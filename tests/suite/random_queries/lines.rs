//! Random log lines, and the expected row of each line, computed without tsql.

use fastrand::Rng;
use serde_json::json;

use super::results::{Cell, Row};

/// Query over the exported tables that returns the columns of [`Line::expected_row`].
pub(super) const EXPECTED_COLUMNS: &str = "SELECT s.path, r.line, r.dataset, r.platform, g.workload_key, c.steps, e.target, \
    r.runtime_ns, r.repeats_ns, r.repeat_count, r.error_no, r.status, r.error_message, r.baseline_ns, r.cpu_ns, \
    r.all_cost_s, r.measured_at, r.flags, [d.wall_ns for d in r.disturbed_repeats] FROM records r \
    JOIN (SELECT DISTINCT source_id, path FROM sources) s ON s.source_id = r.source_id \
    JOIN graphs g ON g.graph_id = r.graph_id \
    JOIN configurations c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
    JOIN environments e ON e.environment_id = r.environment_id \
    WHERE r.dataset IN ('tenset', 'measured')";

/// Frequency of failed measurements in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcomes {
    Usual,
    /// Half of the records failed.
    Bad,
    /// No record was measured, so that whole files have no runtime.
    Unmeasured,
}

/// A line and its expected record.
pub(super) struct Line {
    pub(super) text: String,
    expected: Option<ExpectedRecord>,
}

#[derive(Default)]
struct ExpectedRecord {
    dataset: &'static str,
    workload: String,
    steps: String,
    target: &'static str,
    repeats_ns: Vec<f64>,
    cpu_ns: Option<f64>,
    error_no: i64,
    error_message: Option<&'static str>,
    baseline_ns: Option<f64>,
    all_cost_s: Option<f64>,
    measured_at_s: Option<i64>,
    flags: Option<Vec<&'static str>>,
    disturbed_ns: Option<Vec<f64>>,
}

impl Line {
    /// The expected row, in the order of [`EXPECTED_COLUMNS`], if the line is the `number`-th of a file. `None` if the
    /// line is not a record.
    pub(super) fn expected_row(&self, path: &str, platform: &str, number: usize) -> Option<Row> {
        let expected = self.expected.as_ref()?;
        let or_null = |number: Option<f64>| number.map_or(Cell::Null, Cell::Number);
        let texts = |text: Option<&str>| text.map_or(Cell::Null, Cell::text);
        let numbers =
            |all: &[f64]| Cell::List(all.iter().map(|&number| Cell::Number(number)).collect());
        let words = |all: &[&str]| Cell::List(all.iter().map(|&word| Cell::text(word)).collect());
        let repeats = &expected.repeats_ns;
        let mean = (!repeats.is_empty()).then(|| mean(repeats));
        let status = match mean {
            _ if expected.error_no != 0 => "failed",
            None => "unmeasured",
            Some(_) => "ok",
        };
        Some(vec![
            Cell::text(path),
            Cell::Whole(i64::try_from(number).unwrap()),
            Cell::text(expected.dataset),
            Cell::text(platform),
            Cell::text(&expected.workload),
            Cell::text(&expected.steps),
            Cell::text(expected.target),
            or_null(mean),
            mean.map_or(Cell::Null, |_| numbers(repeats)),
            Cell::Whole(i64::try_from(repeats.len()).unwrap()),
            Cell::Whole(expected.error_no),
            Cell::text(status),
            texts(expected.error_message),
            or_null(expected.baseline_ns),
            or_null(expected.cpu_ns),
            or_null(expected.all_cost_s),
            expected
                .measured_at_s
                .map_or(Cell::Null, |time| Cell::Time(time * 1_000_000)),
            expected.flags.as_deref().map_or(Cell::Null, words),
            expected.disturbed_ns.as_deref().map_or(Cell::Null, numbers),
        ])
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap())
}

/// A comment, or a line that every reader rejects.
pub(super) fn invalid_line(rng: &mut Rng) -> Line {
    let text = *rng
        .choice(&["# a comment", "{\"no\": \"record\"}", ""])
        .unwrap();
    Line {
        text: text.to_owned(),
        expected: None,
    }
}

/// A time stamp. Many records share one, some are at the boundaries of days and years.
fn seconds(rng: &mut Rng) -> i64 {
    match rng.u8(..4) {
        0 => 1_697_404_574,
        1 => *rng
            .choice(&[0, 1, 86_399, 86_400, 1_704_067_199, 1_709_251_199])
            .unwrap(),
        2 => 1_600_000_000 + rng.i64(0..4),
        _ => 1_700_000_000 + rng.i64(0..90_000_000),
    }
}

/// Seconds as spelled in a log, from a small set with ties or of any magnitude.
fn cost(rng: &mut Rng) -> f64 {
    let text = match rng.u8(..4) {
        0 => format!("{}", f64::from(rng.u32(1..40)) / 1000.0),
        1 => format!("{}", f64::from(rng.u32(1..30)) / 1e5),
        _ => format!("{:.5e}", 10_f64.powf(rng.f64() * 6.0 - 6.0)),
    };
    text.parse().unwrap()
}

/// Result of a measurement: repeats in seconds, and an error number.
fn result(rng: &mut Rng, outcomes: Outcomes) -> (Vec<f64>, i64) {
    let (failed, unmeasured) = match outcomes {
        Outcomes::Usual => (8, 4),
        Outcomes::Bad => (50, 20),
        Outcomes::Unmeasured => (60, 100),
    };
    match rng.u8(..100) {
        chance if chance < failed => (Vec::new(), *rng.choice(&[1, 2, 4, 4, 6, 6, 7, 8]).unwrap()),
        chance if chance < failed + unmeasured => (Vec::new(), 0),
        _ => {
            let count = *rng.choice(&[1, 1, 2, 3, 3, 5, 10]).unwrap();
            ((0..count).map(|_| cost(rng)).collect(), 0)
        }
    }
}

fn joined(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// A line of auto_scheduler: older and newer versions, spelled with spaces or without.
pub(super) fn tenset(rng: &mut Rng, outcomes: Outcomes) -> Line {
    let graph = rng.u32(..7);
    let workload = match graph {
        0..4 => format!(r#"["mm", {}, 64]"#, 32 << graph),
        4 => r#"["6d012ba18a086c11ee2b85c7324e16f2", 1, 112, 112, 32]"#.to_owned(),
        _ => format!(r#"["conv2d", [1, {graph}], "float32"]"#),
    };
    let (first, unroll) = (rng.u32(1..9), *rng.choice(&[0, 16, 64]).unwrap());
    let steps = format!(
        r#"[["SP", 1, 0, 64, [{first}, {}], 1], ["FU", 1, [0, 1]], ["AN", 1, 0, 3], ["PR", 1, 0, "auto_unroll_max_step${unroll}"]]"#,
        rng.u32(1..5),
    );
    let target = *rng
        .choice(&["llvm -keys=cpu", "llvm -keys=cpu", "cuda -arch=sm_80"])
        .unwrap();
    let (more, version) = *rng
        .choice(&[(r#", "", 0, []"#, "v0.6"), (r#", "", 1"#, "v0.5")])
        .unwrap();
    let (repeats, error_no) = result(rng, outcomes);
    let costs = match (repeats.is_empty(), error_no) {
        (true, 0) => "0".to_owned(),
        (true, _) => (*rng.choice(&["1e+10", "0.5, 1e+10"]).unwrap()).to_owned(),
        _ => joined(&repeats),
    };
    let (all_cost, time) = (f64::from(rng.u32(..3000)) / 1000.0, seconds(rng));
    // A key is a string that contains JSON. Its spaces are significant.
    let key = serde_json::to_string(&workload).unwrap();
    let (before, after) = (
        r#"{"i": [["#,
        format!(
            r#", "{target}", [8, 64]{more}], [[], {steps}]], "r": [[{costs}], {error_no}, {all_cost}, {time}], "v": "{version}"}}"#
        ),
    );
    let text = if rng.u8(..4) == 0 {
        // The target contains no comma.
        let close = |text: &str| text.replace(", ", ",").replace(": ", ":");
        format!("{}{key}{}", close(before), close(&after))
    } else {
        format!("{before}{key}{after}")
    };
    let expected = ExpectedRecord {
        dataset: "tenset",
        workload,
        steps,
        target,
        repeats_ns: repeats.iter().map(|cost| cost * 1e9).collect(),
        error_no,
        all_cost_s: Some(all_cost),
        measured_at_s: Some(time),
        ..ExpectedRecord::default()
    };
    Line {
        text,
        expected: Some(expected),
    }
}

/// A line with timings of another program. Graph and configuration are strings, lists or objects. A `brief` line has
/// only a result and a time.
pub(super) fn measured(rng: &mut Rng, outcomes: Outcomes, brief: bool) -> Line {
    let workload = match rng.u8(..3) {
        0 => json!(["mm", {"M": 16 << rng.u32(..3)}]),
        1 => json!(format!("conv {}", rng.u8(..3))),
        _ => json!({"n": rng.u8(..2), "op": "softmax"}),
    };
    let tile = rng.u16(1..if brief { 400 } else { 30 });
    let steps = match rng.u8(..3) {
        0 => json!({"TILE": tile, "U": rng.u8(..3)}),
        1 => json!(["TILE", tile, "U", rng.u8(..3)]),
        _ => json!(format!("tile by {}", tile % 10)),
    };
    let (repeats, error_no) = result(rng, outcomes);
    let tenths = |cost: f64| (cost * 1e10).round() / 10.0;
    let mut expected = ExpectedRecord {
        dataset: "measured",
        workload: plain(&workload),
        steps: plain(&steps),
        repeats_ns: repeats.into_iter().map(tenths).collect(),
        error_no,
        ..ExpectedRecord::default()
    };
    let mut members = vec![
        ("workload_key", spaced(&workload)),
        ("steps", spaced(&steps)),
    ];
    match expected.repeats_ns.as_slice() {
        [] => {}
        [one] if rng.bool() => members.push(("runtime_ns", format!("{one}"))),
        all => members.push(("repeats_ns", listed(all))),
    }
    if error_no != 0 {
        members.push(("error_no", error_no.to_string()));
    }
    if brief {
        let time = seconds(rng);
        expected.measured_at_s = Some(time);
        members.push(("measured_at", time.to_string()));
    } else {
        members.extend(details(rng, &mut expected));
    }
    let members = members
        .into_iter()
        .map(|(key, value)| format!(r#""{key}": {value}"#));
    let members: Vec<String> = members.collect();
    Line {
        text: format!("{{{}}}", members.join(", ")),
        expected: Some(expected),
    }
}

/// Optional members of a line.
fn details(rng: &mut Rng, expected: &mut ExpectedRecord) -> Vec<(&'static str, String)> {
    let mut members = Vec::new();
    if expected.error_no != 0 && rng.bool() {
        let messages = ["signal:11", "timeout", "ä \"quoted\", x", "", "a\nb"];
        let message = *rng.choice(&messages).unwrap();
        expected.error_message = Some(message);
        members.push(("error_message", json!(message).to_string()));
    }
    if rng.u8(..3) == 0 {
        let baseline = *rng.choice(&[1000.0, 2000.5, 123_456.75]).unwrap();
        expected.baseline_ns = Some(baseline);
        members.push(("baseline_ns", format!("{baseline}")));
    }
    if !expected.repeats_ns.is_empty() && rng.bool() {
        let cpu = expected
            .repeats_ns
            .iter()
            .map(|repeat| (repeat * 9.0).round() / 10.0);
        let cpu: Vec<f64> = cpu.collect();
        expected.cpu_ns = Some(mean(&cpu));
        members.push(("cpu_repeats_ns", listed(&cpu)));
    }
    if rng.u8(..3) == 0 {
        let walls: Vec<f64> = (0..rng.u8(1..4))
            .map(|_| f64::from(rng.u32(1..5000)) / 2.0)
            .collect();
        let disturbed = walls
            .iter()
            .map(|wall| json!([wall, wall / 2.0, rng.u8(..3)]));
        members.push(("disturbed_repeats", spaced(&disturbed.collect())));
        expected.disturbed_ns = Some(walls);
    }
    if rng.u8(..3) == 0 {
        let flags = *rng
            .choice(&[&["disturbed"][..], &["stolen", "migrated"]])
            .unwrap();
        expected.flags = Some(flags.to_vec());
        members.push(("flags", spaced(&json!(flags))));
    }
    if rng.bool() {
        let all_cost = f64::from(rng.u32(..30)) / 4.0;
        expected.all_cost_s = Some(all_cost);
        members.push(("all_cost_s", format!("{all_cost}")));
    }
    if rng.u8(..3) > 0 {
        let time = seconds(rng);
        expected.measured_at_s = Some(time);
        let named = chrono::DateTime::from_timestamp(time, 0)
            .unwrap()
            .to_rfc3339();
        let spelled = if rng.bool() {
            json!(time)
        } else {
            json!(named)
        };
        members.push(("measured_at", spelled.to_string()));
    }
    if rng.bool() {
        expected.target = *rng.choice(&["c", "llvm"]).unwrap();
        let environment = json!({"machine": {"cores": rng.u8(1..3)}, "target": expected.target});
        members.push(("environment", spaced(&environment)));
    }
    members
}

fn listed(numbers: &[f64]) -> String {
    format!("[{}]", joined(numbers))
}

/// JSON in the format of Python's `json.dumps`.
fn spaced(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(all) => {
            format!(
                "[{}]",
                all.iter().map(spaced).collect::<Vec<_>>().join(", ")
            )
        }
        serde_json::Value::Object(all) => {
            let members = all
                .iter()
                .map(|(key, value)| format!("{}: {}", json!(key), spaced(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Value of a key column: a string unchanged, other values as [`spaced`] JSON.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| spaced(value), str::to_owned)
}
