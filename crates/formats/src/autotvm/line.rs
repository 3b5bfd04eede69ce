//! Parses one line.

use tsql_codecs::json;
use tsql_codecs::number::Decimal;

use super::render::FRACTION_DIGITS;
use crate::members::member_values;
use crate::parser::ParsedLine;
use crate::rows::{Environment, JsonWriter};

/// Supported log version, exactly as in the lines.
const VERSION: &str = "0.2";

/// Range of timestamps in seconds that fit a timestamp in microseconds.
const TIMESTAMP_RANGE_S: std::ops::RangeInclusive<i64> =
    -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;

/// Keys of a line. All but the last are required: TVM before 0.6 did not write its version.
const KEYS: [&str; 5] = ["input", "config", "result", "version", "tvm_version"];

/// Parses one line.
///
/// # Errors
/// Returns a message for people that says what is wrong with the line.
pub(super) fn parse(text: &[u8]) -> Result<ParsedLine, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let values = member_values(text.trim_start_matches('\u{feff}'), &KEYS)?;
    let [input, config, result, version, tvm_version] = values;
    let missing = |key: &str| format!("key `{key}` is missing");
    let input = input.ok_or_else(|| missing("input"))?;
    let config = config.ok_or_else(|| missing("config"))?;
    let result = result.ok_or_else(|| missing("result"))?;
    let [target, template, args, keyword_arguments] = list_elements("input", input)?;
    if json::members(keyword_arguments)
        .is_none_or(|keyword_arguments| !keyword_arguments.is_empty())
    {
        return Err("the keyword arguments in `input` are not an empty object".into());
    }
    let args = args
        .trim()
        .strip_prefix('[')
        .filter(|_| json::elements(args).is_some());
    let args = args.ok_or("the arguments in `input` are not a list")?;
    parse_string("the template", template)?;
    let comma = if args.trim() == "]" { "" } else { "," };
    let workload_key = add_json_spaces(&format!("[{template}{comma}{args}"));
    if json::members(config).is_none() {
        return Err("`config` is not an object".into());
    }
    let version = version.ok_or_else(|| missing("version"))?;
    if version != VERSION {
        return Err(format!("unknown version {version}, expected {VERSION}"));
    }
    let [costs, error_no, all_cost, measured_at] = list_elements("result", result)?;
    let costs = json::elements(costs).ok_or("the costs in `result` are not a list")?;
    let costs = costs.into_iter().map(|cost| parse_number("cost", cost));
    let target = parse_string("the target", target)?;
    let tvm_version = tvm_version.map(|version| parse_string("`tvm_version`", version));
    let (seconds, fraction) = parse_time(measured_at)?;
    Ok(ParsedLine {
        workload_key,
        steps: add_json_spaces(config),
        environment: Environment {
            target,
            log_version: VERSION.to_owned(),
            tvm_version: tvm_version.transpose()?,
            ..Environment::for_writer(JsonWriter::Python)
        },
        costs: costs.collect::<Result<_, _>>()?,
        error_no: parse_error_number(error_no)?,
        all_cost: Some(parse_number("all_cost", all_cost)?),
        measured_at_s: Some(seconds),
        measured_at_fraction: fraction,
        workload_index: None,
    })
}

/// Returns the elements of a list of exactly `N` elements.
fn list_elements<'a, const N: usize>(key: &str, raw: &'a str) -> Result<[&'a str; N], String> {
    let elements = json::elements(raw).ok_or_else(|| format!("`{key}` is not a list"))?;
    let count = elements.len();
    let count_error = |_| format!("`{key}` has {count} elements, expected {N}");
    elements.try_into().map_err(count_error)
}

fn parse_string(description: &str, raw: &str) -> Result<String, String> {
    serde_json::from_str(raw).map_err(|_| format!("{description} is not a string: `{raw}`"))
}

fn add_json_spaces(raw: &str) -> String {
    String::from_utf8(json::normalize_spacing(raw.as_bytes())).unwrap_or_default()
}

fn parse_number(description: &str, raw: &str) -> Result<Decimal, String> {
    let is_number = json::number_length(raw.as_bytes()) == Some(raw.len());
    let value = is_number.then(|| Decimal::parse(raw.as_bytes())).flatten();
    let value = value.filter(|value| value.digits >= 0);
    value.ok_or_else(|| {
        format!(
            "invalid {description} `{raw}`, expected a number of at least 0 with at most 18 digits"
        )
    })
}

fn parse_error_number(raw: &str) -> Result<i16, String> {
    let number = raw.parse::<i16>().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| format!("invalid error number `{raw}`, expected 0 to {}", i16::MAX))
}

/// Returns the seconds since 1970 and the fraction in units of 10^-[`FRACTION_DIGITS`] seconds. A double that holds a
/// current time has no finer resolution.
fn parse_time(raw: &str) -> Result<(i64, Option<i32>), String> {
    let error = || format!("invalid time `{raw}`, expected seconds since 1970");
    parse_number("time", raw).map_err(|_| error())?;
    let (seconds, fraction) = match raw.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (raw, None),
    };
    let seconds: i64 = seconds.parse().map_err(|_| error())?;
    if !TIMESTAMP_RANGE_S.contains(&seconds) {
        return Err(error());
    }
    let digits = fraction.map(|digits| digits.get(..FRACTION_DIGITS).unwrap_or(digits));
    let fraction = digits.map(|digits| format!("{digits:0<FRACTION_DIGITS$}").parse());
    Ok((seconds, fraction.transpose().map_err(|_| error())?))
}
