//! Detects records of AutoTVM version 0.1, which TVM wrote before 0.7 and TopHub ships. They are not read.
//!
//! ```text
//! {"i": ["cuda", "topi_nn_dense", [["TENSOR", [1, 8], "float32"]], {}, ["dense", ...], {"i": 1, "t": "direct", ...}],
//!  "r": [[0.1], 0, 2.3, 1549916400.0], "v": 0.1}
//! llvm -keys=cpu<TAB>gAN...<TAB>gAN...<TAB>0.1             target, then Python pickles as base64
//! ```
//!
//! Lines of auto_scheduler have the same keys, but there `i` is a list of two lists and `v` is a string.

use serde_json::Value;

/// Description of such a file for messages.
pub(crate) const OLD_LOG_DESCRIPTION: &str = "an AutoTVM log of version 0.1, as TopHub ships them";

/// Whether a line is a record of version 0.1.
pub(crate) fn is_old_record(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    let line = line.trim_start_matches('\u{feff}').trim();
    if line.starts_with('{') {
        // Records of other formats are recognizable near their beginning. This check avoids a full parse.
        let head = line.get(..line.floor_char_boundary(64)).unwrap_or(line);
        let is_other = ["\"input\"", "\"v0.", "\"workload_key\""]
            .iter()
            .any(|key| head.contains(key));
        return !is_other && is_json_record(line);
    }
    is_pickled_record(line)
}

fn is_json_record(line: &str) -> bool {
    let Ok(Value::Object(record)) = serde_json::from_str::<Value>(line) else {
        return false;
    };
    let list = |key: &str| record.get(key).and_then(Value::as_array);
    let (Some(input), Some(_)) = (list("i"), list("r")) else {
        return false;
    };
    let is_text = |index: usize| input.get(index).is_some_and(Value::is_string);
    is_text(0) && is_text(1) && record.get("v").is_none_or(Value::is_number)
}

fn is_pickled_record(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    // Base64 of 0x80 and a protocol version from 2 to 5.
    let is_pickle = |field: &str| {
        let version = field
            .strip_prefix("gA")
            .and_then(|rest| rest.bytes().next());
        version.is_some_and(|version| (b'I'..=b'X').contains(&version))
    };
    match fields.as_slice() {
        [target, input, result, ..] if fields.len() <= 5 => {
            !target.is_empty() && is_pickle(input) && is_pickle(result)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &str = r#""i": ["cuda -model=1080ti", "topi_nn_dense", [["TENSOR", [1, 8], "float32"]], {}, ["dense", [1, 8, "float32"]], {"i": 1, "t": "direct", "c": null, "e": [["tile_k", "sp", [-1, 8]]]}]"#;
    const RESULT: &str = r#""r": [[1000000000.0], 6, 10, 1549916400.0]"#;

    #[test]
    fn records_are_detected_in_any_key_order_and_format() {
        for line in [
            format!("{{{INPUT}, {RESULT}, \"v\": 0.1}}"),
            format!("{{{RESULT}, \"v\": 0.1, {INPUT}}}"),
            format!("{{\"v\": 0.1, {RESULT}, {INPUT}}}\r"),
            format!("\u{feff}  {{{RESULT}, {INPUT}}}"),
            format!("{{{INPUT}, {RESULT}, \"v\": 0.1}}")
                .replace(": ", ":")
                .replace(", ", ","),
            "llvm -keys=cpu\tgANdcQAo\tgANdcQ==\t0.1".to_owned(),
        ] {
            assert!(is_old_record(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn records_of_other_formats_are_not_detected() {
        for line in [
            r#"{"i": [["[\"mm\", 8]", "llvm", [8, 64], "", 1, []], [[], [["CI", 1]]]], "r": [[0.5], 0, 3.25, 1697658022], "v": "v0.6"}"#,
            r#"{"r": [[0.5], 0, 3.25, 1697658022], "v": "v0.6", "i": [["[\"mm\", 8]", "llvm"], [[], []]]}"#,
            r#"{"input": ["llvm", "dense", [], {}], "config": {}, "result": [[1], 0, 1, 1], "version": 0.2}"#,
            r#"{"workload_key": ["mm", 8], "steps": {"T": 1}, "repeats_ns": [1]}"#,
            r#"{"i": 1, "r": 2}"#,
            "a\tb\tc",
            "words",
        ] {
            assert!(!is_old_record(line.as_bytes()), "{line}");
        }
    }
}
