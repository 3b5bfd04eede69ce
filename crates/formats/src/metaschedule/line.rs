//! One line taken apart.

use serde::de::IgnoredAny;
use tsql_codecs::json;
use tsql_codecs::number::Decimal;

use super::key;
use crate::beside::Beside;
use crate::parser::Line;
use crate::rows::{Environment, Writer};

/// TVM's `MeasureErrorNo` of an error that is not known: a line does not say which it was.
const UNKNOWN_ERROR: i16 = 8;

/// Seconds from which on a program failed: TVM writes these, and no time.
const FAILED_S: f64 = 1e10;

/// Takes a line apart, whose workload is in the file beside its log, if that is there.
///
/// # Errors
/// What is wrong with it, for people.
pub(super) fn parse(text: &[u8], beside: &Beside) -> Result<Line, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| format!("the line is no JSON: {error}"))?;
    let within = json::elements_within(text, 3).ok_or("the line is no list")?;
    let [index, record] = list("the line", text.trim(), &within, 0)?;
    let [trace, run_secs, target, args_info] = list("the record", record, &within, 1)?;
    for part in list::<2>("the trace", trace, &within, 2)? {
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
                "the index of the workload `{index}` is no whole number from 0 to {}",
                i32::MAX
            )
        })?;
    if !args_info.starts_with('[') && args_info != NOTHING {
        return Err("the types of the arguments are no list".into());
    }
    let (costs, error_no) = times(run_secs)?;
    Ok(Line {
        workload_key: workload_key(index, &spaced(args_info), beside)?,
        steps: spaced(trace),
        environment: Environment {
            target: compact_target(target)?,
            ..Environment::of(Writer::TvmCompact)
        },
        costs,
        error_no,
        all_cost: None,
        measured_at_s: None,
        measured_at_fraction: None,
        workload_index: Some(index),
    })
}

/// The key of the graph of a record: by its workload, or by the place where that would be.
fn workload_key(index: i32, args_info: &str, beside: &Beside) -> Result<String, String> {
    let Some(graphs) = &beside.graphs else {
        return Ok(key::of_place(index, args_info, beside));
    };
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    let name = graphs.names.get(place).ok_or_else(|| {
        let (file, count) = (&graphs.file, graphs.names.len());
        format!("its workload {index} (from 0) is not in `{file}`, which has {count} lines")
    })?;
    Ok(match name {
        Some(hash) => key::of_hash(hash, args_info),
        None => key::of_place(index, args_info, beside),
    })
}

/// What is there where nothing is.
const NOTHING: &str = "null";

/// The elements of a list of `N`: those on its `level` among all that are `within` its line.
fn list<'a, const N: usize>(
    what: &str,
    raw: &'a str,
    within: &[(usize, &'a str)],
    level: usize,
) -> Result<[&'a str; N], String> {
    if !raw.starts_with('[') {
        return Err(format!("{what} is no list"));
    }
    let inside = raw.as_bytes().as_ptr_range();
    let elements = within.iter().filter(|(of, _)| *of == level);
    let elements = elements.filter(|(_, element)| inside.contains(&element.as_ptr()));
    let elements: Vec<&str> = elements.map(|(_, element)| *element).collect();
    let count = elements.len();
    let wrong = |_| format!("{what} has {count} elements instead of {N}");
    elements.try_into().map_err(wrong)
}

fn spaced(raw: &str) -> String {
    String::from_utf8(json::spaced(raw.as_bytes())).unwrap_or_default()
}

fn compact_target(raw: &str) -> Result<String, String> {
    if raw == NOTHING {
        return Ok(String::new());
    }
    if !raw.starts_with('{') {
        return Err("the target is no object".into());
    }
    let mut target = Vec::with_capacity(raw.len());
    json::write_compact(&json::spaced(raw.as_bytes()), &mut target);
    Ok(String::from_utf8_lossy(&target).into_owned())
}

/// The repeats, and the error of a program that failed.
fn times(raw: &str) -> Result<(Vec<Decimal>, i16), String> {
    if raw == NOTHING {
        return Ok((Vec::new(), 0));
    }
    let elements = json::elements_of_valid(raw).ok_or("the run times are no list")?;
    let times = elements.into_iter().map(seconds);
    let times: Vec<f64> = times.collect::<Result<_, _>>()?;
    if times.iter().any(|&time| time >= FAILED_S) {
        return Ok((Vec::new(), UNKNOWN_ERROR));
    }
    let costs = times.into_iter().map(Decimal::from_f64);
    let costs: Option<_> = costs.collect();
    Ok((costs.ok_or("a run time is no decimal")?, 0))
}

/// The double that TVM reads: its twenty digits say no more.
fn seconds(raw: &str) -> Result<f64, String> {
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number.then(|| raw.parse::<f64>().ok()).flatten();
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("run time `{raw}` is no number of seconds from 0 on"))
}
