//! One line taken apart: which keys there are and what they may hold.

use chrono::DateTime;
use tsql_codecs::json;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, NANO};

use crate::members::values;
use crate::rows::{Details, Environment, Kernel, Writer};

/// Version of the form of the lines.
pub const VERSION: &str = "1";

/// The keys of a line, in the order in which it is rebuilt. The first two must be there.
///
/// - `workload_key`, `steps`: graph and configuration; a text, a list or an object.
/// - `program`, `build`: which program was built how, where the environment does not say it ([`super::kernel`]).
/// - `repeats_ns`: the timings of the repeats in nanoseconds. `runtime_ns` is a single one.
/// - `error_no`: TVM's MeasureErrorNo, 0 without. `error_message`: what was said.
/// - `baseline_ns`: the time to compare with.
/// - `cpu_repeats_ns`: processor time of each repeat.
/// - `disturbed_repeats`: a list, of repeats that do not count.
/// - `flags`: a list of words.
/// - `all_cost_s`: seconds that building and measuring took.
/// - `measured_at`: when that ended, in seconds since 1970 or as RFC 3339.
/// - `environment`: an object of `target` (text), `machine`, `settings` and `program` (objects).
pub(super) const KEYS: [&str; 15] = [
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
    "all_cost_s",
    "measured_at",
    "environment",
];

/// Keys of an environment.
const ENVIRONMENT_KEYS: [&str; 4] = ["target", "machine", "settings", "program"];

/// What stands on a line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// Canonical JSON, or the text itself.
    pub(super) workload_key: String,
    pub(super) steps: String,
    /// What the line itself says of it.
    pub(super) kernel: Kernel,
    /// Seconds.
    pub(super) repeats: Vec<Decimal>,
    pub(super) error_no: i16,
    pub(super) all_cost: Option<Decimal>,
    /// Seconds since 1970.
    pub(super) measured_at_s: Option<i64>,
    pub(super) details: Details,
    /// An object, as written.
    pub(super) environment: &'a str,
}

impl<'a> Line<'a> {
    /// # Errors
    /// What is wrong with the line, for people.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let values = values(text, &KEYS)?;
        let value = |key: &str| {
            let place = KEYS.iter().position(|known| *known == key);
            let found = place.and_then(|place| values.get(place).copied().flatten());
            found.filter(|value| *value != "null")
        };
        let required = |key: &str| {
            let found = value(key).ok_or_else(|| format!("key `{key}` is missing"))?;
            thing(key, found)
        };
        let numbers = |key: &str| value(key).map(|found| nanoseconds(key, found)).transpose();
        let repeats = match numbers("repeats_ns")? {
            Some(repeats) => repeats,
            None => value("runtime_ns")
                .map(|found| Ok::<_, String>(vec![time("runtime_ns", found)?]))
                .transpose()?
                .unwrap_or_default(),
        };
        let error_no = value("error_no").map_or(Ok(0), error_number)?;
        let cpu = numbers("cpu_repeats_ns")?;
        if let Some(cpu) = cpu.as_ref().filter(|cpu| cpu.len() != repeats.len()) {
            return Err(format!(
                "`cpu_repeats_ns` has {} numbers, `repeats_ns` {}",
                cpu.len(),
                repeats.len()
            ));
        }
        let text = |key: &str| value(key).map(|found| string(key, found)).transpose();
        let list = |key: &str| value(key).map(|found| list(key, found)).transpose();
        let baseline = value("baseline_ns").map(|found| time("baseline_ns", found));
        Ok(Self {
            workload_key: required("workload_key")?,
            steps: required("steps")?,
            kernel: Kernel {
                program: text("program")?,
                build: text("build")?,
            },
            error_no,
            all_cost: value("all_cost_s")
                .map(|found| number("all_cost_s", found))
                .transpose()?,
            measured_at_s: value("measured_at").map(seconds).transpose()?,
            details: Details {
                error_message: text("error_message")?,
                baseline_ns: baseline.transpose()?.map(|time| time.to_f64(NANO)),
                cpu: cpu
                    .filter(|_| error_no == 0)
                    .as_deref()
                    .and_then(repeats::pack),
                disturbed_repeats: list("disturbed_repeats")?,
                flags: value("flags").map(words).transpose()?,
            },
            environment: value("environment").unwrap_or("{}"),
            repeats,
        })
    }
}

/// The environment that a line names.
pub(super) fn environment(text: &str) -> Result<Environment, String> {
    let values =
        values(text, &ENVIRONMENT_KEYS).map_err(|reason| format!("environment: {reason}"))?;
    let value = |place: usize| values.get(place).copied().flatten();
    let object = |place: usize, key: &str| {
        let canonical = |found: &str| found.starts_with('{').then(|| json::canonical(found));
        let wrong = || format!("environment: `{key}` is no object");
        value(place)
            .map(|found| canonical(found).flatten().ok_or_else(wrong))
            .transpose()
    };
    let target = value(0).map(|found| string("target", found)).transpose()?;
    Ok(Environment {
        target: target.unwrap_or_default(),
        log_version: VERSION.to_owned(),
        machine: object(1, "machine")?,
        settings: object(2, "settings")?,
        program: object(3, "program")?,
        ..Environment::of(Writer::Python)
    })
}

/// A graph or a configuration: canonical JSON, also of a text that holds such, or the text itself.
fn thing(key: &str, raw: &str) -> Result<String, String> {
    let (text, is_text) = match raw.as_bytes().first() {
        Some(b'"') => (string(key, raw)?, true),
        Some(b'{' | b'[') => (raw.to_owned(), false),
        _ => return Err(format!("`{key}` is no text, list or object")),
    };
    let canonical = text.starts_with(['{', '[']).then(|| json::canonical(&text));
    let wrong = || format!("`{key}` is no text, list or object");
    match canonical.flatten() {
        Some(canonical) => Ok(canonical),
        None => is_text.then_some(text).ok_or_else(wrong),
    }
}

fn string(key: &str, raw: &str) -> Result<String, String> {
    serde_json::from_str(raw).map_err(|_| format!("`{key}` is no text"))
}

fn list(key: &str, raw: &str) -> Result<String, String> {
    let canonical = raw.starts_with('[').then(|| json::canonical(raw)).flatten();
    canonical.ok_or_else(|| format!("`{key}` is no list"))
}

fn number(key: &str, raw: &str) -> Result<Decimal, String> {
    let parse = |raw: &str| Decimal::parse(raw.as_bytes());
    let rounded =
        |raw: &str| Decimal::from_f64(raw.parse().ok().filter(|value: &f64| value.is_finite())?);
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number
        .then(|| parse(raw).or_else(|| rounded(raw)))
        .flatten();
    value
        .filter(|value| value.digits >= 0)
        .ok_or_else(|| format!("`{key}`: `{raw}` is no number from 0 on"))
}

/// Nanoseconds as seconds.
fn time(key: &str, raw: &str) -> Result<Decimal, String> {
    Ok(number(key, raw)?.shifted(-NANO))
}

fn nanoseconds(key: &str, raw: &str) -> Result<Vec<Decimal>, String> {
    let elements = json::elements(raw).ok_or_else(|| format!("`{key}` is no list"))?;
    elements
        .into_iter()
        .map(|element| time(key, element))
        .collect()
}

fn error_number(raw: &str) -> Result<i16, String> {
    let number = raw.parse::<i16>().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| format!("`error_no`: `{raw}` is no number from 0 to {}", i16::MAX))
}

fn words(raw: &str) -> Result<Vec<String>, String> {
    let words: Vec<String> =
        serde_json::from_str(raw).map_err(|_| "`flags` is no list of texts".to_owned())?;
    if let Some(word) = words
        .iter()
        .find(|word| word.is_empty() || word.contains(','))
    {
        return Err(format!("`flags`: `{word}` is no word"));
    }
    Ok(words)
}

fn seconds(raw: &str) -> Result<i64, String> {
    let wrong = || format!("`measured_at`: `{raw}` is neither seconds since 1970 nor RFC 3339");
    let range = -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;
    let seconds = if raw.starts_with('"') {
        let text: String = serde_json::from_str(raw).map_err(|_| wrong())?;
        DateTime::parse_from_rfc3339(&text)
            .ok()
            .map(|time| time.timestamp())
    } else {
        let value = number("measured_at", raw)?;
        value.digits_at(0).or_else(|| whole(value))
    };
    seconds
        .filter(|seconds| range.contains(seconds))
        .ok_or_else(wrong)
}

/// The whole part of a number.
fn whole(value: Decimal) -> Option<i64> {
    let places = u32::try_from(-value.exponent).ok()?;
    Some(
        10_i64
            .checked_pow(places)
            .map_or(0, |power| value.digits / power),
    )
}
