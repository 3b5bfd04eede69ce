//! Writes a line from its columns.

use tsql_codecs::json;
use tsql_codecs::number::write_integer;
use tsql_codecs::repeats;

use crate::dumps::{write_line, write_list, write_number};
use crate::rows::{Environment, Measurement};

/// Number of digits of a fraction of a second.
pub(super) const FRACTION_DIGITS: usize = 7;

/// Costs that AutoTVM writes for a failed program.
const FAILED_COSTS: &[u8] = b"[1000000000.0]";

/// Appends a line without its line ending. Returns false if the columns cannot be written; `out` then ends in an
/// incomplete line.
pub fn write(
    workload_key: &str,
    config: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> bool {
    write_line(environment.writer, out, |line| {
        write_spaced(workload_key, config, measurement, environment, line)
    })
}

/// Writes the line with the default spacing of `json.dumps`.
fn write_spaced(
    workload_key: &str,
    config: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> Option<()> {
    let inner = workload_key.strip_prefix('[')?;
    let (template, rest) = inner.split_at_checked(json::string_length(inner.as_bytes())?)?;
    let args = rest.strip_prefix(", ").unwrap_or(rest);
    out.extend_from_slice(b"{\"input\": [");
    json::write_ascii_string(&environment.target, out);
    out.extend_from_slice(b", ");
    out.extend_from_slice(template.as_bytes());
    out.extend_from_slice(b", [");
    out.extend_from_slice(args.as_bytes());
    out.extend_from_slice(b", {}], \"config\": ");
    out.extend_from_slice(config);
    out.extend_from_slice(b", \"result\": [");
    write_costs(measurement, out)?;
    out.extend_from_slice(b", ");
    write_integer(i64::from(measurement.error_no), out);
    out.extend_from_slice(b", ");
    write_number(measurement.all_cost?, out)?;
    out.extend_from_slice(b", ");
    write_integer(measurement.measured_at_s?, out);
    if let Some(fraction) = measurement.measured_at_fraction {
        let digits = format!("{fraction:0FRACTION_DIGITS$}");
        let (first, rest) = digits.split_at_checked(1)?;
        out.push(b'.');
        out.extend_from_slice(first.as_bytes());
        out.extend_from_slice(rest.trim_end_matches('0').as_bytes());
    }
    out.extend_from_slice(b"], \"version\": ");
    out.extend_from_slice(environment.log_version.as_bytes());
    if let Some(version) = &environment.tvm_version {
        out.extend_from_slice(b", \"tvm_version\": ");
        json::write_ascii_string(version, out);
    }
    out.push(b'}');
    Some(())
}

fn write_costs(measurement: Measurement<'_>, out: &mut Vec<u8>) -> Option<()> {
    let Some(runtime_ns) = measurement.runtime_ns else {
        out.extend_from_slice(if measurement.error_no == 0 {
            b"[0]"
        } else {
            FAILED_COSTS
        });
        return Some(());
    };
    let mut costs = Vec::new();
    let (count, bytes) = (measurement.repeat_count, measurement.repeats);
    repeats::unpack(runtime_ns, count, bytes, &mut costs)?;
    write_list(costs.into_iter(), out, write_number)
}
