//! A line put together again from its columns.

use tsql_codecs::json;
use tsql_codecs::repeats;

use super::digits::write_double;
use super::key::args_info;
use crate::dumps::{write_line, write_list, write_number};
use crate::rows::{Environment, Measurement};

/// What TVM writes as the run times of a program that failed.
const FAILED: &[u8] = b"[10000000000]";

/// What it writes where nothing is.
const NOTHING: &[u8] = b"null";

/// Appends a line without its ending. False where the columns cannot be spelled, and then `out` holds part of
/// a line.
pub fn write(
    workload_key: &str,
    trace: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> bool {
    write_line(environment.writer, out, |line| {
        spaced(workload_key, trace, measurement, environment, line)
    })
}

/// The line with the spaces of Python's `json.dumps`.
fn spaced(
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
        out.extend_from_slice(NOTHING);
    } else {
        out.extend_from_slice(&json::spaced(environment.target.as_bytes()));
    }
    out.extend_from_slice(b", ");
    out.extend_from_slice(args_info.as_bytes());
    out.extend_from_slice(b"]]");
    Some(())
}

/// The repeats: TVM writes 20 digits of the double, Python those that tell it apart.
fn write_times(measurement: Measurement<'_>, is_python: bool, out: &mut Vec<u8>) -> Option<()> {
    let Some(runtime_ns) = measurement.runtime_ns else {
        out.extend_from_slice(if measurement.error_no == 0 {
            NOTHING
        } else {
            FAILED
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
