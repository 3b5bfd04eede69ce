//! Serialization of a measurement as a stored line.

use tsql_codecs::json;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, NANO_PLACES};
use tsql_formats::measured;
use tsql_formats::rows::{Environment, Kernel, Measurement, RecordDetails};
use tsql_measure::trial::{Outcome, Repeat};

/// Partitions the repeats into those that count and the others.
pub(super) fn partition_repeats(outcome: &Outcome) -> (Vec<&Repeat>, Vec<&Repeat>) {
    outcome.repeats.iter().partition(|repeat| repeat.counts)
}

/// Rounds nanoseconds to three decimals, the resolution of clocks.
fn round_ns(nanoseconds: f64) -> f64 {
    (nanoseconds * 1000.0).round() / 1000.0
}

/// Rounds times of repeats that do not count, of which there can be hundreds, to a relative precision of
/// 1e-4.
fn round_coarsely(nanoseconds: f64) -> f64 {
    if nanoseconds < 1e4 {
        round_ns(nanoseconds)
    } else {
        nanoseconds.round()
    }
}

fn to_seconds(nanoseconds: f64) -> Option<Decimal> {
    Some(Decimal::from_f64(round_ns(nanoseconds))?.scale_by_power(-NANO_PLACES))
}

fn pack_times(times_ns: impl Iterator<Item = Option<f64>>) -> Option<repeats::PackedRepeats> {
    let times: Option<Vec<Decimal>> = times_ns.map(|time| to_seconds(time?)).collect();
    repeats::pack(&times?)
}

/// Identity of a measurement.
pub(super) struct RecordSubject<'a> {
    pub(super) workload_key: &'a str,
    pub(super) steps: &'a str,
    /// Kernel attributes that the environment lacks.
    pub(super) kernel: &'a Kernel,
}

/// Formats a measurement that ended at `measured_at_s` as a line.
pub(super) fn format_record(
    subject: &RecordSubject<'_>,
    outcome: &Outcome,
    environment: &Environment,
    measured_at_s: i64,
) -> String {
    let (counted, disturbed) = partition_repeats(outcome);
    let failed = outcome.error_no != 0;
    let wall = pack_times(counted.iter().map(|repeat| Some(repeat.wall_ns))).filter(|_| !failed);
    let cpu = pack_times(counted.iter().map(|repeat| repeat.cpu_ns)).filter(|_| !failed);
    let disturbed: Vec<String> = disturbed
        .iter()
        .map(|repeat| {
            let cpu = repeat.cpu_ns.map(|ns| round_coarsely(ns).to_string());
            let cpu = cpu.unwrap_or_else(|| "null".to_owned());
            let wall = round_coarsely(repeat.wall_ns);
            format!("[{wall},{cpu},{}]", repeat.involuntary_switches)
        })
        .collect();
    let disturbed =
        (!disturbed.is_empty() && !failed).then(|| format!("[{}]", disturbed.join(",")));
    let details = RecordDetails {
        error_message: outcome.error_message.clone(),
        baseline_ns: None,
        cpu,
        disturbed_repeats: disturbed.and_then(|text| json::canonical(&text)),
        flags: (!outcome.flags.is_empty()).then(|| outcome.flags.clone()),
        ..RecordDetails::default()
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
    debug_assert!(spelled, "the bytes were packed here");
    String::from_utf8_lossy(&line).into_owned()
}
