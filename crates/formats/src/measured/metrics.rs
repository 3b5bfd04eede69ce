//! Metrics of a line: `"metrics": {"energy": {"value": 0.5, "unit": "J"}, "registers": 32}`.
//!
//! A value is a number or a list of numbers; null is absent. A name of [`METRIC_NAMES`] with a unit needs a unit of that kind; other names
//! may have any unit.

use tsql_autotuners::{METRIC_NAMES, Value, base_unit, parse_json};
use tsql_codecs::json;

use crate::dumps::write_list;
use crate::packed_metrics::{NamedNumber, NumberKind, PackedMetrics};

/// Unit of a number without one.
const NO_UNIT: &str = "";

/// Parses the metrics of a line.
pub(super) fn parse(raw: &str) -> Result<PackedMetrics, String> {
    let value = parse_json(raw);
    let fields = value.as_ref().and_then(Value::as_object);
    let fields = fields.ok_or_else(|| {
        "`metrics` is not an object, expected {\"energy\": {\"value\": 0.5, \"unit\": \"J\"}}"
            .to_owned()
    })?;
    let mut packed = PackedMetrics::default();
    for (index, (name, value)) in fields.iter().enumerate() {
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(format!("`metrics`: invalid name `{}`", name.escape_debug()));
        }
        if fields
            .iter()
            .take(index)
            .any(|(earlier, _)| earlier == name)
        {
            return Err(format!("`metrics`: `{name}` occurs twice"));
        }
        // Arrow has a value for each name of its schema.
        if *value == Value::Null {
            continue;
        }
        let (values, unit) = split_unit(name, value)?;
        check_unit(name, unit)?;
        let numbers = values.as_list().unwrap_or(std::slice::from_ref(values));
        for number in numbers {
            let number = number.as_number();
            let number = number.ok_or_else(|| invalid(name))?;
            let kind = match (number.is_integer(), number.value().is_finite()) {
                (true, _) => NumberKind::Integer,
                (_, true) => NumberKind::Float,
                (_, false) => NumberKind::NonFinite,
            };
            packed.push(&NamedNumber {
                name,
                raw_name: name,
                unit,
                kind,
                value: number.value(),
                text: number.text(),
            });
        }
    }
    Ok(packed)
}

/// Values and unit of a metric.
fn split_unit<'a>(name: &str, value: &'a Value) -> Result<(&'a Value, &'a str), String> {
    let Some(fields) = value.as_object() else {
        return Ok((value, NO_UNIT));
    };
    let unknown = fields
        .iter()
        .find(|(key, _)| !matches!(key.as_str(), "value" | "unit"));
    if let Some((key, _)) = unknown {
        return Err(format!(
            "`metrics`: `{name}` has an unknown key `{key}`, expected `value` and `unit`"
        ));
    }
    let values = value.get("value").ok_or_else(|| invalid(name))?;
    let unit = match value.get("unit") {
        Some(unit) => unit
            .as_text()
            .filter(|unit| !unit.chars().any(char::is_control)),
        None => Some(NO_UNIT),
    };
    let unit = unit.ok_or_else(|| format!("`metrics`: the unit of `{name}` is not a text"))?;
    Ok((values, unit))
}

/// Returns an error if a canonical name has a unit of another kind.
fn check_unit(name: &str, unit: &str) -> Result<(), String> {
    let Some(known) = METRIC_NAMES.iter().find(|metric| metric.name == name) else {
        return Ok(());
    };
    if base_unit(unit).0 == known.unit {
        return Ok(());
    }
    let found = match unit {
        "" => "no unit".to_owned(),
        unit => format!("the unit `{unit}`"),
    };
    let expected = known.unit;
    Err(format!(
        "`metrics`: `{name}` has {found}, expected one like `{expected}`: {{\"value\": 1.5, \"unit\": \"{expected}\"}}"
    ))
}

fn invalid(name: &str) -> String {
    format!(
        "`metrics`: `{name}` is not a number, a list of numbers, or an object of `value` and `unit`"
    )
}

/// Writes the metrics with the default spacing of `json.dumps`. `None` if the columns cannot be written.
pub(super) fn write(packed: &PackedMetrics, out: &mut Vec<u8>) -> Option<()> {
    let numbers = packed.unpack()?;
    let groups = numbers.chunk_by(|one, other| one.raw_name == other.raw_name);
    out.push(b'{');
    for (index, group) in groups.enumerate() {
        let first = group.first()?;
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        json::write_ascii_string(first.raw_name, out);
        out.extend_from_slice(b": ");
        let has_unit = first.unit != NO_UNIT;
        if has_unit {
            out.extend_from_slice(b"{\"value\": ");
        }
        let write_text = |text: &str, out: &mut Vec<u8>| {
            out.extend_from_slice(text.as_bytes());
            Some(())
        };
        match group {
            [one] => write_text(&one.text, out)?,
            several => write_list(several.iter(), out, |one, out| write_text(&one.text, out))?,
        }
        if has_unit {
            out.extend_from_slice(b", \"unit\": ");
            json::write_ascii_string(first.unit, out);
            out.push(b'}');
        }
    }
    out.push(b'}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_rebuilt() {
        for text in [
            r#"{"energy": {"value": 0.5, "unit": "J"}, "registers": 32}"#,
            r#"{"power": {"value": [210.5, 211], "unit": "W"}, "my counter": [1, 2.50]}"#,
            r#"{"compile_time": {"value": 812, "unit": "ms"}}"#,
        ] {
            let mut out = Vec::new();
            write(&parse(text).unwrap(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn invalid_metrics_are_named() {
        for (text, reason) in [
            ("3", "is not an object"),
            (
                r#"{"energy": 0.5}"#,
                "`energy` has no unit, expected one like `J`",
            ),
            (
                r#"{"energy": {"value": 5, "unit": "ms"}}"#,
                "has the unit `ms`",
            ),
            (r#"{"a": "5"}"#, "`a` is not a number"),
            (
                r#"{"a": {"value": 5, "units": "J"}}"#,
                "unknown key `units`",
            ),
            (r#"{"a": {"unit": "J"}}"#, "`a` is not a number"),
            (r#"{"a": 1, "a": 2}"#, "`a` occurs twice"),
            (
                r#"{"a": {"value": 1, "unit": 3}}"#,
                "the unit of `a` is not a text",
            ),
            (r#"{"": 1}"#, "invalid name"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
