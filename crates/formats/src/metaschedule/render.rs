//! Writes a line from its columns.

use tsql_codecs::json;
use tsql_codecs::repeats;

use super::digits::write_double;
use super::key::args_info;
use crate::dumps::{write_line, write_list, write_number};
use crate::rows::{Environment, Measurement};

/// Run times that TVM writes for a failed program.
const FAILED_TIMES: &[u8] = b"[10000000000]";

/// Absent value.
const NULL: &[u8] = b"null";

/// Appends a line without its line ending. Returns false if the columns cannot be written; `out` then ends in an
/// incomplete line.
pub fn write(
    workload_key: &str,
    trace: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> bool {
    write_line(environment.writer, out, |line| {
        write_spaced(workload_key, trace, measurement, environment, line)
    })
}

/// Writes the line with the spacing of Python's `json.dumps`.
fn write_spaced(
    workload_key: &str,
    trace: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (index, args_info) = (measurement.workload_index?, args_info(workload_key)?);
    out.push(b'[');
    out.extend_from_slice(index.to_string().as_bytes());
    out.extend_from_slice(b", [");
    out.extend_from_slice(trace);
    out.extend_from_slice(b", ");
    write_times(measurement, environment.writer.is_python(), out)?;
    out.extend_from_slice(b", ");
    if environment.target.is_empty() {
        out.extend_from_slice(NULL);
    } else {
        out.extend_from_slice(&json::normalize_spacing(environment.target.as_bytes()));
    }
    out.extend_from_slice(b", ");
    out.extend_from_slice(args_info.as_bytes());
    out.extend_from_slice(b"]]");
    Some(())
}

/// Writes the repeats. TVM writes 20 digits of the double, Python the shortest digits that identify it.
fn write_times(measurement: Measurement<'_>, is_python: bool, out: &mut Vec<u8>) -> Option<()> {
    let Some(runtime_ns) = measurement.runtime_ns else {
        out.extend_from_slice(if measurement.error_no == 0 {
            NULL
        } else {
            FAILED_TIMES
        });
        return Some(());
    };
    let mut costs = Vec::new();
    let (count, bytes) = (measurement.repeat_count, measurement.repeats);
    repeats::unpack(runtime_ns, count, bytes, &mut costs)?;
    write_list(costs.into_iter(), out, |cost, out| {
        if is_python {
            write_number(cost, out)
        } else {
            write_double(cost.to_f64(0), out).then_some(())
        }
    })
}
