//! Logs of upstream's test compiler as of July and August 2025, before lines had bracket tags.
//!
//! ```text
//! [Profiling] Using device: cuda:0 NVIDIA A100-SXM4-40GB, warm up 3, trials 5         standard output, eager
//! Trial 1: 9.36 ms
//! graph-net-test-compiler-log equal model_path:/samples/timm/x 1 1                    a value for each output
//! graph-net-test-compiler-log all_close_atol8_rtol8 model_path:/samples/timm/x 1 0
//! graph-net-test-compiler-log duration model_path:/samples/timm/x eager:8.6400 compiled:8.4100
//! ```
//!
//! Until 2025-08-28 keys began with `cmp.` and durations were in seconds; since then they are in milliseconds. No line
//! contains the data types of the outputs or the compiler.

use super::text::parse_number;

/// Line about a sample.
#[derive(Debug, PartialEq)]
pub(super) struct LegacyLine<'a> {
    /// Key without the prefix `cmp.`.
    pub(super) key: &'a str,
    pub(super) model_path: &'a str,
    pub(super) value: LegacyValue,
    /// Part of the line could not be parsed.
    pub(super) is_malformed: bool,
}

/// Value of a line.
#[derive(Debug, PartialEq)]
pub(super) enum LegacyValue {
    /// One number per output.
    Outputs(Vec<f64>),
    /// Milliseconds of the eager and the compiled side.
    Durations(Option<f64>, Option<f64>),
}

/// Known keys or prefixes of keys.
const KEYS: [&str; 6] = [
    "equal",
    "all_close_atol",
    "max_diff",
    "mean_diff",
    "diff_count_atol",
    "duration",
];

/// Returns the key of a line of this dialect.
pub(super) fn parse_key(line: &str) -> Option<&str> {
    parse_line(line).map(|line| line.key)
}

/// Parses a line of this dialect: one word of prompt, then key, path and values.
pub(super) fn parse_line(line: &str) -> Option<LegacyLine<'_>> {
    let (head, tail) = line.split_once(" model_path:")?;
    let mut words = head.split(' ');
    let (_prompt, full_key) = (words.next().filter(|word| !word.is_empty())?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let key = full_key.strip_prefix("cmp.").unwrap_or(full_key);
    let is_key = |known_key: &str| {
        let is_family = known_key.ends_with("_atol") && key.contains("_rtol");
        key == known_key || is_family && key.starts_with(known_key)
    };
    if !KEYS.into_iter().any(is_key) {
        return None;
    }
    let (model_path, values) = tail.split_once(' ').unwrap_or((tail, ""));
    if model_path.is_empty() {
        return None;
    }
    let mut is_malformed = false;
    let value = if key == "duration" {
        let to_ms = if full_key == key { 1.0 } else { 1000.0 };
        let mut side = |name: &str| {
            let mut words = values.split_whitespace();
            let word = words.find_map(|word| word.strip_prefix(name));
            let (value, is_complete) = word.map(parse_number).unwrap_or_default();
            is_malformed |= !is_complete;
            value.map(|value| value * to_ms)
        };
        LegacyValue::Durations(side("eager:"), side("compiled:"))
    } else {
        let mut numbers = Vec::new();
        for word in values.split_whitespace() {
            let (value, is_complete) = parse_number(word);
            numbers.extend(value);
            is_malformed |= !is_complete;
        }
        LegacyValue::Outputs(numbers)
    };
    Some(LegacyLine {
        key,
        model_path,
        value,
        is_malformed,
    })
}

/// Returns the milliseconds of a trial: `Trial 1: 9.36 ms`.
pub(super) fn parse_trial(line: &str) -> Option<(u64, f64)> {
    let (index, time) = line.trim().strip_prefix("Trial ")?.split_once(": ")?;
    let time = time.strip_suffix(" ms")?;
    Some((index.parse().ok()?, time.parse().ok()?))
}
