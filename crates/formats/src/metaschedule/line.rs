//! Parses one line.

use serde::de::IgnoredAny;
use tsql_codecs::json;
use tsql_codecs::number::Decimal;

use super::key;
use crate::log_context::LogContext;
use crate::parser::ParsedLine;
use crate::rows::{Environment, JsonWriter};

/// TVM's `MeasureErrorNo` of an unknown error. Lines do not contain the kind of error.
const UNKNOWN_ERROR: i16 = 8;

/// Run time in seconds from which on a program counts as failed. TVM writes this value instead of a time.
const FAILED_S: f64 = 1e10;

/// Parses a line. Its workload is in the companion file, if that exists.
///
/// # Errors
/// Returns a message for people that says what is wrong with the line.
pub(super) fn parse(text: &[u8], context: &LogContext) -> Result<ParsedLine, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("invalid JSON: {error}"))?;
    let nested = json::nested_elements(text, 3).ok_or("the line is not a list")?;
    let [index, record] = list_elements("the line", text.trim(), &nested, 0)?;
    let [trace, run_secs, target, args_info] = list_elements("the record", record, &nested, 1)?;
    for part in list_elements::<2>("the trace", trace, &nested, 2)? {
        if !part.starts_with('[') {
            return Err("instructions and decisions of the trace are not both lists".into());
        }
    }
    let index = index
        .parse()
        .ok()
        .filter(|index| *index >= 0)
        .ok_or_else(|| {
            format!(
                "invalid workload index `{index}`, expected an integer from 0 to {}",
                i32::MAX
            )
        })?;
    if !args_info.starts_with('[') && args_info != NULL {
        return Err("the argument types are not a list".into());
    }
    let (costs, error_no) = parse_times(run_secs)?;
    Ok(ParsedLine {
        workload_key: workload_key(index, &add_json_spaces(args_info), context)?,
        steps: add_json_spaces(trace),
        environment: Environment {
            target: compact_target(target)?,
            ..Environment::for_writer(JsonWriter::TvmCompact)
        },
        costs,
        error_no,
        all_cost: None,
        measured_at_s: None,
        measured_at_fraction: None,
        workload_index: Some(index),
    })
}

/// Returns the key of the graph of a record: by its workload, or by the location of a missing workload.
fn workload_key(index: i32, args_info: &str, context: &LogContext) -> Result<String, String> {
    let Some(graphs) = &context.graphs else {
        return Ok(key::key_of_location(index, args_info, context));
    };
    let position = usize::try_from(index).unwrap_or(usize::MAX);
    let name = graphs.names.get(position).ok_or_else(|| {
        let (file, count) = (&graphs.file, graphs.names.len());
        let noun = if count == 1 { "line" } else { "lines" };
        format!("workload {index} (from 0) is not in `{file}`, which has {count} {noun}")
    })?;
    Ok(match name {
        Some(hash) => key::key_of_hash(hash, args_info),
        None => key::key_of_location(index, args_info, context),
    })
}

/// Absent value.
const NULL: &str = "null";

/// Returns the elements of a list of exactly `N` elements. `nested` has all elements of the line; the result has those
/// on `level` inside `raw`.
fn list_elements<'a, const N: usize>(
    description: &str,
    raw: &'a str,
    nested: &[(usize, &'a str)],
    level: usize,
) -> Result<[&'a str; N], String> {
    if !raw.starts_with('[') {
        return Err(format!("{description} is not a list"));
    }
    let range = raw.as_bytes().as_ptr_range();
    let elements = nested
        .iter()
        .filter(|(element_level, _)| *element_level == level);
    let elements = elements.filter(|(_, element)| range.contains(&element.as_ptr()));
    let elements: Vec<&str> = elements.map(|(_, element)| *element).collect();
    let count = elements.len();
    let count_error = |_| format!("{description} has {count} elements, expected {N}");
    elements.try_into().map_err(count_error)
}

fn add_json_spaces(raw: &str) -> String {
    String::from_utf8(json::normalize_spacing(raw.as_bytes())).unwrap_or_default()
}

fn compact_target(raw: &str) -> Result<String, String> {
    if raw == NULL {
        return Ok(String::new());
    }
    if !raw.starts_with('{') {
        return Err("the target is not an object".into());
    }
    let mut target = Vec::with_capacity(raw.len());
    json::write_compact(&json::normalize_spacing(raw.as_bytes()), &mut target);
    Ok(String::from_utf8_lossy(&target).into_owned())
}

/// Returns the repeats, and the error number of a failed program.
fn parse_times(raw: &str) -> Result<(Vec<Decimal>, i16), String> {
    if raw == NULL {
        return Ok((Vec::new(), 0));
    }
    let elements = json::elements_unchecked(raw).ok_or("the run times are not a list")?;
    let times = elements.into_iter().map(parse_seconds);
    let times: Vec<f64> = times.collect::<Result<_, _>>()?;
    if times.iter().any(|&time| time >= FAILED_S) {
        return Ok((Vec::new(), UNKNOWN_ERROR));
    }
    let costs = times.into_iter().map(Decimal::from_f64);
    let costs: Option<_> = costs.collect();
    Ok((costs.ok_or("a run time is not a decimal number")?, 0))
}

/// Parses seconds as a double, like TVM. The twenty digits contain no more information.
fn parse_seconds(raw: &str) -> Result<f64, String> {
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number.then(|| raw.parse::<f64>().ok()).flatten();
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("invalid run time `{raw}`, expected seconds of at least 0"))
}
