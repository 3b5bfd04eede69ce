//! A measurement as the line that is stored.

use tsql_codecs::json;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, NANO};
use tsql_formats::measured;
use tsql_formats::rows::{Details, Environment, Kernel, Measurement};

use tsql_measure::trial::{Outcome, Repeat};

/// The repeats that count, and those that do not.
pub(super) fn counted(outcome: &Outcome) -> (Vec<&Repeat>, Vec<&Repeat>) {
    outcome.repeats.iter().partition(|repeat| repeat.counts)
}

/// Nanoseconds to three places: a clock tells no more.
fn rounded(nanoseconds: f64) -> f64 {
    (nanoseconds * 1000.0).round() / 1000.0
}

/// The same for repeats that do not count, of which there may be hundreds: to a ten-thousandth of them.
fn short(nanoseconds: f64) -> f64 {
    if nanoseconds < 1e4 {
        rounded(nanoseconds)
    } else {
        nanoseconds.round()
    }
}

fn seconds(nanoseconds: f64) -> Option<Decimal> {
    Some(Decimal::from_f64(rounded(nanoseconds))?.shifted(-NANO))
}

fn packed(times_ns: impl Iterator<Item = Option<f64>>) -> Option<repeats::Packed> {
    let times: Option<Vec<Decimal>> = times_ns.map(|time| seconds(time?)).collect();
    repeats::pack(&times?)
}

/// What was measured.
pub(super) struct Subject<'a> {
    pub(super) workload_key: &'a str,
    pub(super) steps: &'a str,
    /// What the environment does not say of it.
    pub(super) kernel: &'a Kernel,
}

/// The line of a measurement that ended at `measured_at_s`.
pub(super) fn line(
    subject: &Subject<'_>,
    outcome: &Outcome,
    environment: &Environment,
    measured_at_s: i64,
) -> String {
    let (counted, disturbed) = counted(outcome);
    let failed = outcome.error_no != 0;
    let wall = packed(counted.iter().map(|repeat| Some(repeat.wall_ns))).filter(|_| !failed);
    let cpu = packed(counted.iter().map(|repeat| repeat.cpu_ns)).filter(|_| !failed);
    let disturbed: Vec<String> = disturbed
        .iter()
        .map(|repeat| {
            let cpu = repeat.cpu_ns.map(|ns| short(ns).to_string());
            let cpu = cpu.unwrap_or_else(|| "null".to_owned());
            let wall = short(repeat.wall_ns);
            format!("[{wall},{cpu},{}]", repeat.involuntary_switches)
        })
        .collect();
    let disturbed =
        (!disturbed.is_empty() && !failed).then(|| format!("[{}]", disturbed.join(",")));
    let details = Details {
        error_message: outcome.error_message.clone(),
        baseline_ns: None,
        cpu,
        disturbed_repeats: disturbed.and_then(|text| json::canonical(&text)),
        flags: (!outcome.flags.is_empty()).then(|| outcome.flags.clone()),
    };
    let count = wall.as_ref().map_or(0, |_| counted.len());
    let measurement = Measurement {
        runtime_ns: wall.as_ref().map(|wall| wall.runtime_ns),
        repeat_count: i32::try_from(count).unwrap_or(i32::MAX),
        repeats: wall.as_ref().and_then(|wall| wall.bytes.as_deref()),
        error_no: outcome.error_no,
        all_cost: Decimal::from_f64((outcome.all_cost_s * 1e6).round() / 1e6),
        measured_at_s: Some(measured_at_s),
        measured_at_fraction: None,
        workload_index: None,
    };
    let mut line = Vec::new();
    let spelled = measured::write(
        subject.workload_key,
        subject.steps.as_bytes(),
        subject.kernel,
        measurement,
        &details,
        environment,
        &mut line,
    );
    debug_assert!(spelled, "what was packed here is unpacked");
    String::from_utf8_lossy(&line).into_owned()
}
