//! Lines of timings: the format of the tutorial `docs/dev/new-format.md`. Only tests compile it.

use tsql_codecs::number::{Decimal, Spelling};
use tsql_codecs::repeats;

use crate::log_context::LogContext;
use crate::parser::{self, LineFormat, ParsedLine};
use crate::record_writer::RecordWriter;
use crate::rows::{Environment, JsonWriter, LogRows, Measurement};
use crate::{Format, LogFormat};

/// Files of such lines.
#[derive(Debug)]
pub(crate) struct Log;

impl Format for Log {
    fn dataset(&self) -> &'static str {
        "timings"
    }

    fn description(&self) -> &'static str {
        "a log of timings"
    }
}

impl LogFormat for Log {
    fn begins_record(&self, line: &[u8]) -> bool {
        parse(line).is_ok()
    }

    fn parse(&self, chunk: &[u8], crlf: bool, context: &LogContext) -> LogRows {
        parser::parse(chunk, crlf, context, &LINE_FORMAT)
    }

    fn record_writer(&self) -> Box<dyn RecordWriter> {
        Box::new(&LINE_FORMAT)
    }

    fn file_extension(&self) -> &'static str {
        "txt"
    }
}

/// Parser and writer of the lines. The parser calls `write` for each line: what it does not rebuild is stored as text.
static LINE_FORMAT: LineFormat = LineFormat {
    parse: |line, _| parse(line),
    write: |key, steps, measurement, environment, out| {
        write(key, steps, measurement, environment, out).is_some()
    },
    writers: &[JsonWriter::Python],
};

/// Parses a line, or returns the reason of its rejection.
fn parse(line: &[u8]) -> Result<ParsedLine, String> {
    let text = std::str::from_utf8(line).map_err(|_| "invalid UTF-8".to_owned())?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [kernel, shape, knobs, target, times @ ..] = words.as_slice() else {
        return Err("fewer than four words".to_owned());
    };
    if times.is_empty() || !is_name(kernel) || !is_name(target) {
        return Err("no time, or a kernel or a target that is not a name".to_owned());
    }
    let sizes: Result<Vec<String>, String> = shape.split('x').map(parse_number).collect();
    let knob = |knob: &str| match knob.split_once('=') {
        Some((name, value)) if is_name(name) => Ok(format!("\"{name}\": {}", parse_number(value)?)),
        _ => Err(format!("`{knob}` is not name=number")),
    };
    let knobs: Result<Vec<String>, String> = knobs.split(',').map(knob).collect();
    let seconds = |text: &&str| {
        let value = Decimal::parse(text.as_bytes()).filter(|value| value.digits > 0);
        value.ok_or_else(|| format!("`{text}` is not a time in seconds"))
    };
    Ok(ParsedLine {
        workload_key: format!("[\"{kernel}\", {}]", sizes?.join(", ")),
        steps: format!("{{{}}}", knobs?.join(", ")),
        environment: Environment {
            target: (*target).to_owned(),
            ..Environment::for_writer(JsonWriter::Python)
        },
        costs: times.iter().map(seconds).collect::<Result<_, _>>()?,
        error_no: 0,
        all_cost: None,
        measured_at_s: None,
        measured_at_fraction: None,
        workload_index: None,
    })
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn parse_number(text: &str) -> Result<String, String> {
    let number = text.parse::<u32>().map(|number| number.to_string());
    number.map_err(|_| format!("`{text}` is not a number"))
}

/// Appends the line of a record. Returns `None` for columns that [`parse`] does not return.
fn write(
    key: &str,
    steps: &[u8],
    measurement: Measurement<'_>,
    environment: &Environment,
    out: &mut Vec<u8>,
) -> Option<()> {
    let key = key.strip_prefix("[\"")?.strip_suffix(']')?;
    let (kernel, sizes) = key.split_once("\", ")?;
    let knobs = std::str::from_utf8(steps)
        .ok()?
        .replace(['"', '{', '}'], "");
    let (sizes, knobs) = (sizes.replace(", ", "x"), knobs.replace(": ", "="));
    let knobs = knobs.replace(", ", ",");
    out.extend_from_slice(format!("{kernel} {sizes} {knobs} {}", environment.target).as_bytes());
    let (count, packed) = (measurement.repeat_count, measurement.repeats);
    let mut seconds = Vec::new();
    repeats::unpack(measurement.runtime_ns?, count, packed, &mut seconds)?;
    for time in seconds {
        out.push(b' ');
        time.write(Spelling::Shortest, out).then_some(())?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> LogRows {
        Log.parse(text.as_bytes(), false, &LogContext::default())
    }

    #[test]
    fn a_line_is_kernel_shape_knobs_target_and_times() {
        let rows = rows("matmul 512x512 tile=8,unroll=4 llvm 0.0015 0.0025\n");
        assert!(
            rows.verbatim.is_empty() && rows.others.is_empty(),
            "{rows:?}"
        );
        assert_eq!(rows.graphs, ["[\"matmul\", 512, 512]"]);
        assert_eq!(rows.environments[0].target, "llvm");
        let record = &rows.records[0];
        assert_eq!((record.runtime_ns, record.repeat_count), (Some(2e6), 2));
    }

    #[test]
    fn odd_lines_keep_their_text_and_wrong_lines_have_a_reason() {
        for odd in [
            "mm 8 a=1 llvm 1.50",
            "mm 08 a=1 llvm 1.5",
            "mm  8 a=1 llvm 1.5",
        ] {
            assert_eq!(rows(odd).verbatim, [(0, odd.as_bytes().to_vec())]);
        }
        for (wrong, reason) in [
            ("mm 8 a=b llvm 1.5", "`b` is not a number"),
            ("mm 8 a=1 llvm -1.5", "`-1.5` is not a time in seconds"),
        ] {
            assert_eq!(rows(wrong).others[0].reason.as_deref(), Some(reason));
        }
    }

    #[test]
    fn only_these_lines_are_detected() {
        assert!(Log.begins_record(b"matmul 512x512 tile=8 llvm 0.0015"));
        for other in [
            "",
            "# mm 8 a=1 llvm 1",
            "some words of a text",
            r#"{"workload_key": 1}"#,
        ] {
            assert!(!Log.begins_record(other.as_bytes()), "{other}");
        }
    }
}
