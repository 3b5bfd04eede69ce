//! One line taken apart.

use tsql_codecs::json;
use tsql_codecs::number::Decimal;

use super::render::FRACTION_DIGITS;
use crate::members::values;
use crate::parser::Line;
use crate::rows::{Environment, Writer};

/// The version that is read, as its lines have it.
const VERSION: &str = "0.2";

/// Seconds that fit a timestamp in microseconds.
const SECONDS: std::ops::RangeInclusive<i64> = -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;

/// The keys of a line. All but the last must be there: TVM before 0.6 did not say its version.
const KEYS: [&str; 5] = ["input", "config", "result", "version", "tvm_version"];

/// Takes a line apart.
///
/// # Errors
/// What is wrong with it, for people.
pub(super) fn parse(text: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let values = values(text.trim_start_matches('\u{feff}'), &KEYS)?;
    let [input, config, result, version, tvm_version] = values;
    let missing = |key: &str| format!("key `{key}` is missing");
    let input = input.ok_or_else(|| missing("input"))?;
    let config = config.ok_or_else(|| missing("config"))?;
    let result = result.ok_or_else(|| missing("result"))?;
    let [target, template, args, named] = list("input", input)?;
    if json::members(named).is_none_or(|named| !named.is_empty()) {
        return Err("`input` has arguments by name, which no workload of AutoTVM has".into());
    }
    let args = args
        .trim()
        .strip_prefix('[')
        .filter(|_| json::elements(args).is_some());
    let args = args.ok_or("the arguments in `input` are no list")?;
    string("the template", template)?;
    let comma = if args.trim() == "]" { "" } else { "," };
    let workload_key = spaced(&format!("[{template}{comma}{args}"));
    if json::members(config).is_none() {
        return Err("`config` is no object".into());
    }
    let version = version.ok_or_else(|| missing("version"))?;
    if version != VERSION {
        return Err(format!("version {version} is not known: {VERSION} is"));
    }
    let [costs, error_no, all_cost, measured_at] = list("result", result)?;
    let costs = json::elements(costs).ok_or("the costs in `result` are no list")?;
    let costs = costs.into_iter().map(|cost| number("cost", cost));
    let target = string("the target", target)?;
    let tvm_version = tvm_version.map(|version| string("`tvm_version`", version));
    let (seconds, fraction) = time(measured_at)?;
    Ok(Line {
        workload_key,
        steps: spaced(config),
        environment: Environment {
            target,
            log_version: VERSION.to_owned(),
            tvm_version: tvm_version.transpose()?,
            ..Environment::of(Writer::Python)
        },
        costs: costs.collect::<Result<_, _>>()?,
        error_no: error_number(error_no)?,
        all_cost: Some(number("all_cost", all_cost)?),
        measured_at_s: Some(seconds),
        measured_at_fraction: fraction,
        workload_index: None,
    })
}

/// The elements of a list of `N`.
fn list<'a, const N: usize>(key: &str, raw: &'a str) -> Result<[&'a str; N], String> {
    let elements = json::elements(raw).ok_or_else(|| format!("`{key}` is no list"))?;
    let count = elements.len();
    let wrong = |_| format!("`{key}` has {count} elements instead of {N}");
    elements.try_into().map_err(wrong)
}

fn string(what: &str, raw: &str) -> Result<String, String> {
    serde_json::from_str(raw).map_err(|_| format!("{what} is no text: `{raw}`"))
}

fn spaced(raw: &str) -> String {
    String::from_utf8(json::spaced(raw.as_bytes())).unwrap_or_default()
}

fn number(what: &str, raw: &str) -> Result<Decimal, String> {
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number.then(|| Decimal::parse(raw.as_bytes())).flatten();
    let value = value.filter(|value| value.digits >= 0);
    value.ok_or_else(|| format!("{what} `{raw}` is no number from 0 on with at most 18 digits"))
}

fn error_number(raw: &str) -> Result<i16, String> {
    let number = raw.parse::<i16>().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| format!("error number `{raw}` is none from 0 to {}", i16::MAX))
}

/// Seconds since 1970 and what comes after the point, in 10^-[`FRACTION_DIGITS`] seconds, which a double of
/// today's times does not go beyond.
fn time(raw: &str) -> Result<(i64, Option<i32>), String> {
    let wrong = || format!("the time `{raw}` is no number of seconds since 1970");
    number("time", raw).map_err(|_| wrong())?;
    let (seconds, fraction) = match raw.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (raw, None),
    };
    let seconds: i64 = seconds.parse().map_err(|_| wrong())?;
    if !SECONDS.contains(&seconds) {
        return Err(wrong());
    }
    let digits = fraction.map(|digits| digits.get(..FRACTION_DIGITS).unwrap_or(digits));
    let fraction = digits.map(|digits| format!("{digits:0<FRACTION_DIGITS$}").parse());
    Ok((seconds, fraction.transpose().map_err(|_| wrong())?))
}
