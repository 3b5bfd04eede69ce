//! Parses one line: its keys and their permitted values.

use chrono::DateTime;
use tsql_codecs::json;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, NANO_PLACES};

use super::metrics;
use crate::members::member_values;
use crate::rows::{Environment, JsonWriter, Kernel, RecordDetails};

/// Version of the line format.
pub const VERSION: &str = "1";

/// Keys of a line, in the order in which it is rebuilt. The first two are required.
///
/// - `workload_key`, `steps`: graph and configuration; a string, a list or an object.
/// - `program`, `build`: program and its build, if the environment does not contain them ([`super::kernel`]).
/// - `repeats_ns`: times of the repeats in nanoseconds. `runtime_ns` is a single one.
/// - `error_no`: TVM's MeasureErrorNo, default 0. `error_message`: message of the error.
/// - `baseline_ns`: time to compare with.
/// - `cpu_repeats_ns`: processor time of each repeat.
/// - `disturbed_repeats`: list of repeats that are excluded.
/// - `flags`: list of words.
/// - `metrics`: object of named numbers with units ([`metrics`]).
/// - `all_cost_s`: seconds spent on building and measuring.
/// - `measured_at`: end of the measurement, in seconds since 1970 or as RFC 3339.
/// - `environment`: object of `target` (string), `machine`, `settings` and `program` (objects).
pub(super) const KEYS: [&str; 16] = [
    "workload_key",
    "steps",
    "program",
    "build",
    "repeats_ns",
    "runtime_ns",
    "error_no",
    "error_message",
    "baseline_ns",
    "cpu_repeats_ns",
    "disturbed_repeats",
    "flags",
    "metrics",
    "all_cost_s",
    "measured_at",
    "environment",
];

/// Keys of an environment.
const ENVIRONMENT_KEYS: [&str; 4] = ["target", "machine", "settings", "program"];

/// Content of a line.
#[derive(Debug)]
pub(super) struct MeasuredLine<'a> {
    /// Canonical JSON, or the text itself.
    pub(super) workload_key: String,
    pub(super) steps: String,
    /// Kernel, as stated in the line itself.
    pub(super) kernel: Kernel,
    /// Seconds.
    pub(super) repeats: Vec<Decimal>,
    pub(super) error_no: i16,
    pub(super) all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub(super) measured_at_s: Option<i64>,
    pub(super) details: RecordDetails,
    /// Object, verbatim.
    pub(super) environment: &'a str,
}

impl<'a> MeasuredLine<'a> {
    /// # Errors
    /// Returns a message for people that says what is wrong with the line.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let values = member_values(text, &KEYS)?;
        let value = |key: &str| {
            let index = KEYS.iter().position(|known_key| *known_key == key);
            let raw = index.and_then(|index| values.get(index).copied().flatten());
            raw.filter(|value| *value != "null")
        };
        let required = |key: &str| {
            let raw = value(key).ok_or_else(|| format!("key `{key}` is missing"))?;
            canonical_value(key, raw)
        };
        let numbers = |key: &str| value(key).map(|raw| parse_times(key, raw)).transpose();
        let repeats = match numbers("repeats_ns")? {
            Some(repeats) => repeats,
            None => value("runtime_ns")
                .map(|raw| Ok::<_, String>(vec![parse_time("runtime_ns", raw)?]))
                .transpose()?
                .unwrap_or_default(),
        };
        let error_no = value("error_no").map_or(Ok(0), parse_error_number)?;
        let cpu = numbers("cpu_repeats_ns")?;
        if let Some(cpu) = cpu.as_ref().filter(|cpu| cpu.len() != repeats.len()) {
            return Err(format!(
                "`cpu_repeats_ns` has {} numbers, `repeats_ns` has {}",
                cpu.len(),
                repeats.len()
            ));
        }
        let text = |key: &str| value(key).map(|raw| parse_string(key, raw)).transpose();
        let list = |key: &str| value(key).map(|raw| canonical_list(key, raw)).transpose();
        let baseline = value("baseline_ns").map(|raw| parse_time("baseline_ns", raw));
        Ok(Self {
            workload_key: required("workload_key")?,
            steps: required("steps")?,
            kernel: Kernel {
                program: text("program")?,
                build: text("build")?,
            },
            error_no,
            all_cost: value("all_cost_s")
                .map(|raw| parse_number("all_cost_s", raw))
                .transpose()?,
            measured_at_s: value("measured_at").map(parse_timestamp).transpose()?,
            details: RecordDetails {
                error_message: text("error_message")?,
                baseline_ns: baseline.transpose()?.map(|time| time.to_f64(NANO_PLACES)),
                cpu: cpu
                    .filter(|_| error_no == 0)
                    .as_deref()
                    .and_then(repeats::pack),
                disturbed_repeats: list("disturbed_repeats")?,
                flags: value("flags").map(parse_flags).transpose()?,
                metrics: value("metrics").map(metrics::parse).transpose()?,
                ..RecordDetails::default()
            },
            environment: value("environment").unwrap_or("{}"),
            repeats,
        })
    }
}

/// Parses the environment of a line.
pub(super) fn parse_environment(text: &str) -> Result<Environment, String> {
    let values = member_values(text, &ENVIRONMENT_KEYS)
        .map_err(|reason| format!("environment: {reason}"))?;
    let value = |index: usize| values.get(index).copied().flatten();
    let object = |index: usize, key: &str| {
        let canonical = |raw: &str| raw.starts_with('{').then(|| json::canonical(raw));
        let type_error = || format!("environment: `{key}` is not an object");
        value(index)
            .map(|raw| canonical(raw).flatten().ok_or_else(type_error))
            .transpose()
    };
    let target = value(0)
        .map(|raw| parse_string("target", raw))
        .transpose()?;
    Ok(Environment {
        target: target.unwrap_or_default(),
        log_version: VERSION.to_owned(),
        machine: object(1, "machine")?,
        settings: object(2, "settings")?,
        program: object(3, "program")?,
        ..Environment::for_writer(JsonWriter::Python)
    })
}

/// Normalizes a graph or a configuration: canonical JSON, also of a string that contains JSON, or the string itself.
fn canonical_value(key: &str, raw: &str) -> Result<String, String> {
    let (text, is_text) = match raw.as_bytes().first() {
        Some(b'"') => (parse_string(key, raw)?, true),
        Some(b'{' | b'[') => (raw.to_owned(), false),
        _ => return Err(format!("`{key}` is not a string, list or object")),
    };
    let canonical = text.starts_with(['{', '[']).then(|| json::canonical(&text));
    let type_error = || format!("`{key}` is not a string, list or object");
    match canonical.flatten() {
        Some(canonical) => Ok(canonical),
        None => is_text.then_some(text).ok_or_else(type_error),
    }
}

fn parse_string(key: &str, raw: &str) -> Result<String, String> {
    serde_json::from_str(raw).map_err(|_| format!("`{key}` is not a string"))
}

fn canonical_list(key: &str, raw: &str) -> Result<String, String> {
    let canonical = raw.starts_with('[').then(|| json::canonical(raw)).flatten();
    canonical.ok_or_else(|| format!("`{key}` is not a list"))
}

fn parse_number(key: &str, raw: &str) -> Result<Decimal, String> {
    let parse = |raw: &str| Decimal::parse(raw.as_bytes());
    let rounded =
        |raw: &str| Decimal::from_f64(raw.parse().ok().filter(|value: &f64| value.is_finite())?);
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number
        .then(|| parse(raw).or_else(|| rounded(raw)))
        .flatten();
    value
        .filter(|value| value.digits >= 0)
        .ok_or_else(|| format!("`{key}`: invalid value `{raw}`, expected a number of at least 0"))
}

/// Parses nanoseconds into seconds.
fn parse_time(key: &str, raw: &str) -> Result<Decimal, String> {
    Ok(parse_number(key, raw)?.scale_by_power(-NANO_PLACES))
}

fn parse_times(key: &str, raw: &str) -> Result<Vec<Decimal>, String> {
    let elements = json::elements(raw).ok_or_else(|| format!("`{key}` is not a list"))?;
    elements
        .into_iter()
        .map(|element| parse_time(key, element))
        .collect()
}

fn parse_error_number(raw: &str) -> Result<i16, String> {
    let number = raw.parse::<i16>().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| {
        format!(
            "`error_no`: invalid value `{raw}`, expected an integer from 0 to {}",
            i16::MAX
        )
    })
}

fn parse_flags(raw: &str) -> Result<Vec<String>, String> {
    let flags: Vec<String> =
        serde_json::from_str(raw).map_err(|_| "`flags` is not a list of strings".to_owned())?;
    if let Some(flag) = flags
        .iter()
        .find(|flag| flag.is_empty() || flag.contains(','))
    {
        return Err(format!(
            "`flags`: invalid flag `{flag}`, expected text without commas"
        ));
    }
    Ok(flags)
}

fn parse_timestamp(raw: &str) -> Result<i64, String> {
    let invalid =
        || format!("`measured_at`: invalid value `{raw}`, expected seconds since 1970 or RFC 3339");
    let range = -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;
    let seconds = if raw.starts_with('"') {
        let text: String = serde_json::from_str(raw).map_err(|_| invalid())?;
        DateTime::parse_from_rfc3339(&text)
            .ok()
            .map(|time| time.timestamp())
    } else {
        let value = parse_number("measured_at", raw)?;
        value.digits_at(0).or_else(|| integer_part(value))
    };
    seconds
        .filter(|seconds| range.contains(seconds))
        .ok_or_else(invalid)
}

/// Returns the integer part of a number.
fn integer_part(value: Decimal) -> Option<i64> {
    let decimals = u32::try_from(-value.exponent).ok()?;
    Some(
        10_i64
            .checked_pow(decimals)
            .map_or(0, |power| value.digits / power),
    )
}
