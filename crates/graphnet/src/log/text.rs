//! Parsers for parts of log lines.

use super::run::Performance;
use serde_json::Value;

/// Splits `[key]: text`.
pub(super) fn split_key(body: &str) -> Option<(&str, &str)> {
    let (key, text) = body.strip_prefix('[')?.split_once("]:")?;
    let is_key = !key.is_empty() && !key.contains(['[', ']']);
    (is_key && !text.trim().is_empty()).then_some((key, text))
}

/// Parses the number at the start of a text, up to a blank or comma.
pub(super) fn parse_milliseconds(text: &str) -> Option<f64> {
    parse_number(text.split([' ', ',']).next()?).0
}

/// Parses the number at the start of a word. The flag is true if it is the whole word.
pub(super) fn parse_number(word: &str) -> (Option<f64>, bool) {
    if let Ok(value) = word.parse() {
        return (Some(value), true);
    }
    let end = word.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
    let digits = end.and_then(|end| word.get(..end)).unwrap_or(word);
    (
        digits
            .trim_end_matches(['+', '-', '.', 'e', 'E'])
            .parse()
            .ok(),
        false,
    )
}

/// Parses the statistics from a JSON object at the start of a text; the second value describes a problem. Python writes
/// `NaN` and `Infinity`, which are not JSON; they count as absent.
pub(super) fn parse_statistics(text: &str) -> (Performance, Option<&'static str>) {
    let first = |text: &str| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next().and_then(Result::ok).filter(Value::is_object);
        value.map(|value| (value, values.byte_offset()))
    };
    let (value, raw, problem) = match first(text) {
        Some((value, end)) => {
            let raw = text.get(..end).unwrap_or(text);
            (
                value,
                raw,
                (raw != text).then_some("text after the JSON object"),
            )
        }
        None => {
            let finite = text
                .replace("-Infinity", "null")
                .replace("Infinity", "null");
            match first(&finite.replace("NaN", "null")) {
                Some((value, _)) => (value, text, Some("statistics that are not finite")),
                None => (Value::Null, text, Some("no readable JSON object")),
            }
        }
    };
    let get = |clock: &str, field: &str| value.get(clock)?.get(field)?.as_f64();
    let performance = Performance {
        raw: raw.to_owned(),
        e2e_mean: get("e2e", "mean"),
        e2e_median: get("e2e", "median"),
        gpu_mean: get("gpu", "mean"),
        gpu_median: get("gpu", "median"),
        kernel_mean: get("kernel", "mean"),
        kernel_median: get("kernel", "median"),
    };
    (performance, problem)
}

/// Sets a value like a Python dict: an existing key keeps its position and gets the new value.
pub(super) fn upsert<T>(pairs: &mut Vec<(String, T)>, key: &str, value: T) {
    match pairs.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key.to_owned(), value)),
    }
}

/// Returns the first 60 characters, for notes.
pub(super) fn shorten(text: &str) -> String {
    text.trim().chars().take(60).collect()
}
