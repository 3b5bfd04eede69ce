//! Parses one line of an auto_scheduler log without building a tree.
//!
//! The grammar is that of TVM's `measure_record.cc`: an object with exactly the keys `i`, `r` and `v` in any order.
//! Versions v0.2 to v0.6 differ in the length of the task tuple.

use tsql_codecs::json::{number_length, string_length};
use tsql_codecs::number::Decimal;

use crate::steps::StepReader;

/// Accepted error numbers. TVM defines them up to 8; the upper bound is that of the column.
const ERROR_NUMBERS: std::ops::RangeInclusive<i64> = 0..=i16::MAX as i64;

/// Range of timestamps in seconds that fit a timestamp in microseconds.
const TIMESTAMP_RANGE_S: std::ops::RangeInclusive<i64> =
    -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;

/// Content of a line. Text fields are raw JSON, verbatim.
#[derive(Debug, Default)]
pub(super) struct LineFields<'a> {
    /// Workload key: a JSON string, including quotes.
    pub(super) key: &'a [u8],
    /// Other elements of the task tuple, without brackets: target, hardware, ...
    pub(super) task: &'a [u8],
    /// Transform steps: a JSON list, which the caller's [`StepReader`] has read.
    pub(super) steps: &'a [u8],
    /// Run time of each repeat in seconds.
    pub(super) costs: Vec<Decimal>,
    pub(super) error_no: i16,
    pub(super) all_cost: Decimal,
    /// Seconds since 1970.
    pub(super) timestamp: i64,
    /// Version: a JSON string, including quotes.
    pub(super) version: &'a [u8],
}

/// Parses `line` into `fields` and `steps`, which are reused for all lines.
///
/// # Errors
/// Returns a message for people that says what is wrong with the line.
pub(super) fn parse<'a>(
    line: &'a [u8],
    fields: &mut LineFields<'a>,
    steps: &mut StepReader,
) -> Result<(), String> {
    let text = std::str::from_utf8(line)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let mut cursor = LineCursor {
        text: text.as_bytes(),
        position: text.len() - text.trim_start_matches('\u{feff}').len(),
    };
    let (mut has_input, mut has_result, mut has_version) = (false, false, false);
    cursor.expect(b'{')?;
    loop {
        let key = cursor.read_string()?;
        cursor.expect(b':')?;
        let is_duplicate = match key {
            b"\"i\"" => {
                cursor.read_input(fields, steps)?;
                std::mem::replace(&mut has_input, true)
            }
            b"\"r\"" => {
                cursor.result(fields)?;
                std::mem::replace(&mut has_result, true)
            }
            b"\"v\"" => {
                fields.version = cursor.read_string()?;
                check_version(fields.version)?;
                std::mem::replace(&mut has_version, true)
            }
            _ => {
                return Err(format!(
                    "unknown key {}, expected i, r or v",
                    quote_excerpt(key)
                ));
            }
        };
        if is_duplicate {
            return Err(format!("duplicate key {}", quote_excerpt(key)));
        }
        if cursor.next_or_close(b'}')? {
            break;
        }
    }
    for (is_found, key) in [(has_input, 'i'), (has_result, 'r'), (has_version, 'v')] {
        if !is_found {
            return Err(format!("key `{key}` is missing"));
        }
    }
    cursor.end()
}

/// Supported versions of the line format.
const VERSIONS: [&[u8]; 5] = [b"v0.2", b"v0.3", b"v0.4", b"v0.5", b"v0.6"];

fn check_version(version: &[u8]) -> Result<(), String> {
    let text = version.get(1..version.len().saturating_sub(1));
    if text.is_some_and(|text| VERSIONS.contains(&text)) {
        return Ok(());
    }
    let text = text.unwrap_or(version);
    Err(format!(
        "unknown version {}, expected v0.2 to v0.6",
        quote_excerpt(text)
    ))
}

struct LineCursor<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> LineCursor<'a> {
    fn skip_space(&mut self) {
        while matches!(
            self.text.get(self.position),
            Some(b' ' | b'\t' | b'\r' | b'\n')
        ) {
            self.position += 1;
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.position..).unwrap_or(&[])
    }

    fn fail<T>(&self, expected: &str) -> Result<T, String> {
        match self
            .text
            .get(self.position..)
            .and_then(|rest| std::str::from_utf8(rest).ok()?.chars().next())
        {
            None => Err(format!(
                "the line ends at byte {}, {expected} expected",
                self.position
            )),
            Some(character) => Err(format!(
                "`{}` at byte {}, {expected} expected",
                character.escape_default(),
                self.position + 1
            )),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.skip_space();
        if self.text.get(self.position) != Some(&byte) {
            return self.fail(&format!("`{}`", char::from(byte)));
        }
        self.position += 1;
        Ok(())
    }

    /// Consumes a comma (returns false) or the closing bracket (returns true).
    fn next_or_close(&mut self, close: u8) -> Result<bool, String> {
        self.skip_space();
        match self.text.get(self.position) {
            Some(b',') => {
                self.position += 1;
                Ok(false)
            }
            Some(&byte) if byte == close => {
                self.position += 1;
                Ok(true)
            }
            _ => self.fail(&format!("`,` or `{}`", char::from(close))),
        }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let token = self.rest().get(..length).unwrap_or(&[]);
        self.position += length;
        token
    }

    fn read_string(&mut self) -> Result<&'a [u8], String> {
        self.skip_space();
        if self.text.get(self.position) != Some(&b'"') {
            return self.fail("a string");
        }
        match string_length(self.rest()) {
            Some(length) => Ok(self.take(length)),
            None => Err(format!(
                "the string at byte {} is unterminated or invalid",
                self.position + 1
            )),
        }
    }

    fn read_number(&mut self) -> Result<&'a [u8], String> {
        self.skip_space();
        match number_length(self.rest()) {
            Some(length) => Ok(self.take(length)),
            None => self.fail("a number"),
        }
    }

    fn read_integer(
        &mut self,
        name: &str,
        range: &std::ops::RangeInclusive<i64>,
    ) -> Result<i64, String> {
        let text = self.read_number()?;
        let value = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<i64>().ok());
        value.filter(|value| range.contains(value)).ok_or_else(|| {
            format!(
                "{name} {} is out of range ({} to {})",
                quote_excerpt(text),
                range.start(),
                range.end()
            )
        })
    }

    fn read_decimal(&mut self, name: &str) -> Result<Decimal, String> {
        let text = self.read_number()?;
        if let Some(decimal) = Decimal::parse(text) {
            return Ok(decimal);
        }
        let value = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<f64>().ok());
        value
            .filter(|value| value.is_finite())
            .and_then(Decimal::from_f64)
            .ok_or_else(|| format!("{name} {} is out of range", quote_excerpt(text)))
    }

    fn end(&mut self) -> Result<(), String> {
        self.skip_space();
        if self.position < self.text.len() {
            return self.fail("the end of the line");
        }
        Ok(())
    }

    /// `[[key, target, ...], [[], [step, ...]]]`
    fn read_input(
        &mut self,
        fields: &mut LineFields<'a>,
        steps: &mut StepReader,
    ) -> Result<(), String> {
        self.expect(b'[')?;
        self.expect(b'[')?;
        fields.key = self.read_string()?;
        self.expect(b',')?;
        self.skip_space();
        fields.task = self.read_elements()?;
        self.expect(b',')?;
        self.expect(b'[')?;
        self.expect(b'[')?;
        self.expect(b']')
            .map_err(|error| format!("{error}: the list of stages is always empty"))?;
        self.expect(b',')?;
        self.skip_space();
        let length = steps.read(self.rest())?;
        fields.steps = self.take(length);
        self.expect(b']')?;
        self.expect(b']')
    }

    /// Consumes the elements of a list and its closing bracket; returns the elements.
    fn read_elements(&mut self) -> Result<&'a [u8], String> {
        let start = self.position;
        loop {
            self.read_element()?;
            if self.next_or_close(b']')? {
                return Ok(self
                    .text
                    .get(start..self.position - 1)
                    .unwrap_or(&[])
                    .trim_ascii_end());
            }
        }
    }

    /// A string, a number, or a flat list of them.
    fn read_element(&mut self) -> Result<(), String> {
        self.skip_space();
        match self.text.get(self.position) {
            Some(b'"') => self.read_string().map(drop),
            Some(b'[') => {
                self.position += 1;
                self.skip_space();
                if self.text.get(self.position) == Some(&b']') {
                    self.position += 1;
                    return Ok(());
                }
                loop {
                    self.skip_space();
                    match self.text.get(self.position) {
                        Some(b'"') => self.read_string().map(drop)?,
                        _ => self.read_number().map(drop)?,
                    }
                    if self.next_or_close(b']')? {
                        return Ok(());
                    }
                }
            }
            _ => self.read_number().map(drop),
        }
    }

    /// `[[cost, ...], error_no, all_cost, timestamp]`
    fn result(&mut self, fields: &mut LineFields<'a>) -> Result<(), String> {
        self.expect(b'[')?;
        self.expect(b'[')?;
        fields.costs.clear();
        self.skip_space();
        if self.text.get(self.position) == Some(&b']') {
            self.position += 1;
        } else {
            loop {
                let cost = self.read_decimal("cost")?;
                if cost.digits < 0 {
                    return Err("a cost is negative".to_owned());
                }
                fields.costs.push(cost);
                if self.next_or_close(b']')? {
                    break;
                }
            }
        }
        self.expect(b',')?;
        let error_no = self.read_integer("error_no", &ERROR_NUMBERS)?;
        fields.error_no = i16::try_from(error_no).unwrap_or(i16::MAX);
        self.expect(b',')?;
        fields.all_cost = self.read_decimal("all_cost")?;
        self.expect(b',')?;
        fields.timestamp = self.read_integer("timestamp", &TIMESTAMP_RANGE_S)?;
        self.expect(b']')
    }
}

/// Quotes input in backticks for messages. Long input is truncated.
fn quote_excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("`{}...`", text.get(..end).unwrap_or("")),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"i": [["[\"mm\", 8]", "llvm -keys=cpu ", [8, 64], "", 1, []], [[], [["CI", 1]]]], "r": [[0.5, 1e+10], 4, 3.25, 1697658022], "v": "v0.6"}"#;

    fn reason(line: &str) -> String {
        parse(
            line.as_bytes(),
            &mut LineFields::default(),
            &mut StepReader::default(),
        )
        .unwrap_err()
    }

    #[test]
    fn a_line_is_parsed_into_its_fields() {
        let (mut fields, mut steps) = (LineFields::default(), StepReader::default());
        parse(LINE.as_bytes(), &mut fields, &mut steps).unwrap();
        assert_eq!(fields.key, br#""[\"mm\", 8]""#);
        assert_eq!(fields.task, br#""llvm -keys=cpu ", [8, 64], "", 1, []"#);
        assert_eq!(fields.steps, br#"[["CI", 1]]"#);
        assert_eq!(fields.costs.len(), 2);
        assert_eq!(
            (fields.error_no, fields.timestamp, fields.version),
            (4, 1_697_658_022, b"\"v0.6\"".as_slice())
        );
    }

    #[test]
    fn keys_may_come_in_any_order() {
        let (input, rest) = LINE.trim_matches(['{', '}']).split_once(", \"r\"").unwrap();
        let line = format!("{{\"r\"{rest}, {input}}}");
        parse(
            line.as_bytes(),
            &mut LineFields::default(),
            &mut StepReader::default(),
        )
        .unwrap();
    }

    #[test]
    fn every_error_has_its_reason() {
        for (old, new, expected_reason) in [
            ("\"v\": \"v0.6\"", "\"w\": 1", "unknown key `\"w\"`"),
            (", \"v\": \"v0.6\"", "", "key `v` is missing"),
            (
                "v0.6",
                "v0.9",
                "unknown version `v0.9`, expected v0.2 to v0.6",
            ),
            ("1e+10", "1e999", "cost `1e999` is out of range"),
            ("0.5", "-0.5", "a cost is negative"),
            (
                "], 4,",
                "], 99999,",
                "error_no `99999` is out of range (0 to 32767)",
            ),
            (
                "1697658022",
                "16976580220000000000",
                "timestamp `16976580220000000000` is out of range",
            ),
            (
                "[[], [[\"CI\"",
                "[[1], [[\"CI\"",
                "the list of stages is always empty",
            ),
            ("\"v0.6\"}", "\"v0.6\"} x", "the end of the line expected"),
            ("\"v0.6\"}", "", "the line ends at byte"),
        ] {
            let line = LINE.replacen(old, new, 1);
            assert_ne!(line, LINE, "{old}");
            assert!(
                reason(&line).contains(expected_reason),
                "{expected_reason}: {}",
                reason(&line)
            );
        }
    }

    #[test]
    fn no_truncated_line_is_a_record() {
        for end in 0..LINE.len() {
            let truncated = LINE.get(..end).unwrap();
            assert!(
                parse(
                    truncated.as_bytes(),
                    &mut LineFields::default(),
                    &mut StepReader::default()
                )
                .is_err()
            );
        }
    }

    /// Bytes that are significant for the structure of a line.
    const STRUCTURAL_BYTES: &[u8] = b"[]{}\",:\\ 0-1.eEn\x00\xff";

    /// A line after some of its bytes were changed, removed, duplicated or swapped.
    fn mutate(changes: &[(proptest::sample::Index, proptest::sample::Index, u8)]) -> Vec<u8> {
        let mut line = LINE.as_bytes().to_vec();
        for (position, other, mutation) in changes {
            let length = line.len();
            let position = position.index(length);
            match mutation % 5 {
                0 => line[position] = STRUCTURAL_BYTES[other.index(STRUCTURAL_BYTES.len())],
                1 => line.insert(
                    position,
                    STRUCTURAL_BYTES[other.index(STRUCTURAL_BYTES.len())],
                ),
                2 => drop(line.remove(position)),
                3 => line.swap(position, other.index(length)),
                _ => {
                    let end = position + other.index(length - position);
                    let copied = line[position..end].to_vec();
                    line.splice(position..position, copied);
                }
            }
        }
        line
    }

    proptest::proptest! {
        #[test]
        fn a_mutated_line_is_rejected_or_json(
            changes in proptest::collection::vec(proptest::prelude::any::<(proptest::sample::Index, proptest::sample::Index, u8)>(), 1..4)
        ) {
            let line = mutate(&changes);
            if parse(&line, &mut LineFields::default(), &mut StepReader::default()).is_ok() {
                let text = String::from_utf8_lossy(&line);
                let json = serde_json::from_slice::<serde::de::IgnoredAny>(&line);
                proptest::prop_assert!(json.is_ok(), "{text}");
            }
        }
    }
}
