//! Writes a line from its columns.
//!
//! The same code verifies at ingest that a line can be reproduced, and reproduces it at export.

use tsql_codecs::json;
use tsql_codecs::number::{Decimal, write_integer};
use tsql_codecs::repeats::{self, NANO_PLACES};

use super::metrics;
use crate::dumps::{write_line, write_list, write_number};
use crate::rows::{Environment, Kernel, Measurement, RecordDetails};

/// Appends a line without its line ending. `kernel` contains only the parts that the environment does not state.
/// Returns false if the columns cannot be written; `out` then ends in an incomplete line.
pub fn write(
    workload_key: &str,
    steps: &[u8],
    kernel: &Kernel,
    measurement: Measurement<'_>,
    details: &RecordDetails,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> bool {
    write_line(environment.writer, out, |line| {
        write_spaced(
            workload_key,
            steps,
            kernel,
            measurement,
            details,
            environment,
            line,
        )
    })
}

/// Writes the line with the default spacing of `json.dumps`.
fn write_spaced(
    workload_key: &str,
    steps: &[u8],
    kernel: &Kernel,
    measurement: Measurement<'_>,
    details: &RecordDetails,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> Option<()> {
    out.extend_from_slice(b"{\"workload_key\": ");
    write_json_or_text(workload_key, out);
    write_key("steps", out);
    write_json_or_text(std::str::from_utf8(steps).ok()?, out);
    for (name, value) in [("program", &kernel.program), ("build", &kernel.build)] {
        if let Some(value) = value {
            write_key(name, out);
            json::write_ascii_string(value, out);
        }
    }
    if let Some(runtime_ns) = measurement.runtime_ns {
        write_key("repeats_ns", out);
        write_times(runtime_ns, measurement, measurement.repeats, out)?;
    }
    if measurement.error_no != 0 {
        write_key("error_no", out);
        write_integer(i64::from(measurement.error_no), out);
    }
    if let Some(message) = &details.error_message {
        write_key("error_message", out);
        json::write_ascii_string(message, out);
    }
    if let Some(baseline_ns) = details.baseline_ns {
        write_key("baseline_ns", out);
        write_number(Decimal::from_f64(baseline_ns)?, out)?;
    }
    if let Some(cpu) = &details.cpu {
        write_key("cpu_repeats_ns", out);
        write_times(cpu.runtime_ns, measurement, cpu.bytes.as_deref(), out)?;
    }
    if let Some(repeats) = &details.disturbed_repeats {
        write_key("disturbed_repeats", out);
        out.extend_from_slice(repeats.as_bytes());
    }
    if let Some(flags) = &details.flags {
        write_key("flags", out);
        write_list(flags.iter(), out, |flag, out| {
            json::write_ascii_string(flag, out);
            Some(())
        })?;
    }
    if let Some(packed) = &details.metrics {
        write_key("metrics", out);
        metrics::write(packed, out)?;
    }
    if let Some(all_cost) = measurement.all_cost {
        write_key("all_cost_s", out);
        write_number(all_cost, out)?;
    }
    if let Some(seconds) = measurement.measured_at_s {
        write_key("measured_at", out);
        write_integer(seconds, out);
    }
    write_environment(environment, out);
    out.push(b'}');
    Some(())
}

fn write_key(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b", \"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\": ");
}

/// Writes a graph or a configuration: as JSON if it is canonical, else as a string.
fn write_json_or_text(text: &str, out: &mut Vec<u8>) {
    let is_json = text.starts_with(['{', '[']);
    if is_json && json::canonical(text).as_deref() == Some(text) {
        out.extend_from_slice(text.as_bytes());
    } else {
        json::write_ascii_string(text, out);
    }
}

fn write_times(
    mean_ns: f64,
    measurement: Measurement<'_>,
    bytes: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut times = Vec::new();
    repeats::unpack(mean_ns, measurement.repeat_count, bytes, &mut times)?;
    write_list(times.into_iter(), out, |time, out| {
        write_number(time.scale_by_power(NANO_PLACES), out)
    })
}

fn write_environment(environment: &Environment, out: &mut Vec<u8>) {
    let target = (!environment.target.is_empty()).then(|| {
        let mut text = Vec::new();
        json::write_ascii_string(&environment.target, &mut text);
        text
    });
    let object = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let parts = [
        ("target", target),
        ("machine", object(&environment.machine)),
        ("settings", object(&environment.settings)),
        ("program", object(&environment.program)),
    ];
    let mut is_first = true;
    for (name, value) in parts {
        let Some(value) = value else { continue };
        if is_first {
            write_key("environment", out);
        }
        out.extend_from_slice(if is_first { b"{\"" } else { b", \"" });
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\": ");
        out.extend_from_slice(&value);
        is_first = false;
    }
    if !is_first {
        out.push(b'}');
    }
}
