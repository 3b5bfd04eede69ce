//! One line of an auto_scheduler log, taken apart without building a tree.
//!
//! The grammar is that of TVM's `measure_record.cc`: an object with the keys `i`, `r` and `v` in
//! any order, nothing else. Versions v0.2 to v0.6 differ in the length of the task tuple.

use tsql_codecs::json::{number_length, string_length};
use tsql_codecs::number::Decimal;

use crate::steps::Steps;

/// Largest error number that TVM defines is 8; what a reader may meet is what fits the column.
const ERROR_NUMBERS: std::ops::RangeInclusive<i64> = 0..=i16::MAX as i64;

/// Seconds that fit a timestamp in microseconds.
const SECONDS: std::ops::RangeInclusive<i64> = -(i64::MAX / 1_000_000)..=i64::MAX / 1_000_000;

/// What stands on a line. Text fields are raw JSON, as written.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// The workload key: a JSON string, quotes included.
    pub(super) key: &'a [u8],
    /// The other elements of the task tuple, without the brackets: target, hardware, ...
    pub(super) task: &'a [u8],
    /// The transform steps: a JSON list. The caller's [`Steps`] have read it.
    pub(super) steps: &'a [u8],
    /// Seconds, one a repeat.
    pub(super) costs: Vec<Decimal>,
    pub(super) error_no: i16,
    pub(super) all_cost: Decimal,
    /// Seconds since 1970.
    pub(super) timestamp: i64,
    /// Version: a JSON string, quotes included.
    pub(super) version: &'a [u8],
}

/// Takes `line` apart into `fields` and `steps`, both reused from line to line.
///
/// # Errors
/// What is wrong with the line, for people.
pub(super) fn parse<'a>(
    line: &'a [u8],
    fields: &mut Fields<'a>,
    steps: &mut Steps,
) -> Result<(), String> {
    let text = std::str::from_utf8(line)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let mut cursor = Cursor {
        text: text.as_bytes(),
        at: text.len() - text.trim_start_matches('\u{feff}').len(),
    };
    let (mut input, mut result, mut version) = (false, false, false);
    cursor.expect(b'{')?;
    loop {
        let key = cursor.string()?;
        cursor.expect(b':')?;
        let again = match key {
            b"\"i\"" => {
                cursor.input(fields, steps)?;
                std::mem::replace(&mut input, true)
            }
            b"\"r\"" => {
                cursor.result(fields)?;
                std::mem::replace(&mut result, true)
            }
            b"\"v\"" => {
                fields.version = cursor.string()?;
                is_known(fields.version)?;
                std::mem::replace(&mut version, true)
            }
            _ => return Err(format!("unknown key {}, expected i, r or v", shown(key))),
        };
        if again {
            return Err(format!("key {} stands twice", shown(key)));
        }
        if cursor.next_or_close(b'}')? {
            break;
        }
    }
    for (found, key) in [(input, 'i'), (result, 'r'), (version, 'v')] {
        if !found {
            return Err(format!("key `{key}` is missing"));
        }
    }
    cursor.end()
}

/// The versions of the form of a line.
const VERSIONS: [&[u8]; 5] = [b"v0.2", b"v0.3", b"v0.4", b"v0.5", b"v0.6"];

fn is_known(version: &[u8]) -> Result<(), String> {
    let text = version.get(1..version.len().saturating_sub(1));
    if text.is_some_and(|text| VERSIONS.contains(&text)) {
        return Ok(());
    }
    let text = text.unwrap_or(version);
    Err(format!(
        "version {} is not known: v0.2 to v0.6 are",
        shown(text)
    ))
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or(&[])
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, String> {
        match self
            .text
            .get(self.at..)
            .and_then(|rest| std::str::from_utf8(rest).ok()?.chars().next())
        {
            None => Err(format!(
                "the line ends at byte {}, {wanted} expected",
                self.at
            )),
            Some(found) => Err(format!(
                "`{}` at byte {}, {wanted} expected",
                found.escape_default(),
                self.at + 1
            )),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.space();
        if self.text.get(self.at) != Some(&byte) {
            return self.fail(&format!("`{}`", char::from(byte)));
        }
        self.at += 1;
        Ok(())
    }

    /// Takes a comma (false) or the closing bracket (true).
    fn next_or_close(&mut self, close: u8) -> Result<bool, String> {
        self.space();
        match self.text.get(self.at) {
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            Some(&byte) if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => self.fail(&format!("`,` or `{}`", char::from(close))),
        }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let taken = self.rest().get(..length).unwrap_or(&[]);
        self.at += length;
        taken
    }

    fn string(&mut self) -> Result<&'a [u8], String> {
        self.space();
        if self.text.get(self.at) != Some(&b'"') {
            return self.fail("a string");
        }
        match string_length(self.rest()) {
            Some(length) => Ok(self.take(length)),
            None => Err(format!(
                "the string at byte {} does not end or is broken",
                self.at + 1
            )),
        }
    }

    fn number(&mut self) -> Result<&'a [u8], String> {
        self.space();
        match number_length(self.rest()) {
            Some(length) => Ok(self.take(length)),
            None => self.fail("a number"),
        }
    }

    fn integer(
        &mut self,
        name: &str,
        range: &std::ops::RangeInclusive<i64>,
    ) -> Result<i64, String> {
        let text = self.number()?;
        let value = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<i64>().ok());
        value.filter(|value| range.contains(value)).ok_or_else(|| {
            format!(
                "{name} {} is out of range ({} to {})",
                shown(text),
                range.start(),
                range.end()
            )
        })
    }

    fn decimal(&mut self, name: &str) -> Result<Decimal, String> {
        let text = self.number()?;
        if let Some(decimal) = Decimal::parse(text) {
            return Ok(decimal);
        }
        let value = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<f64>().ok());
        value
            .filter(|value| value.is_finite())
            .and_then(Decimal::from_f64)
            .ok_or_else(|| format!("{name} {} is out of range", shown(text)))
    }

    fn end(&mut self) -> Result<(), String> {
        self.space();
        if self.at < self.text.len() {
            return self.fail("the end of the line");
        }
        Ok(())
    }

    /// `[[key, target, ...], [[], [step, ...]]]`
    fn input(&mut self, fields: &mut Fields<'a>, steps: &mut Steps) -> Result<(), String> {
        self.expect(b'[')?;
        self.expect(b'[')?;
        fields.key = self.string()?;
        self.expect(b',')?;
        self.space();
        fields.task = self.elements()?;
        self.expect(b',')?;
        self.expect(b'[')?;
        self.expect(b'[')?;
        self.expect(b']')
            .map_err(|error| format!("{error}: the list of stages is always empty"))?;
        self.expect(b',')?;
        self.space();
        let length = steps.read(self.rest())?;
        fields.steps = self.take(length);
        self.expect(b']')?;
        self.expect(b']')
    }

    /// The elements of a list up to its closing bracket, which is taken too.
    fn elements(&mut self) -> Result<&'a [u8], String> {
        let start = self.at;
        loop {
            self.element()?;
            if self.next_or_close(b']')? {
                return Ok(self
                    .text
                    .get(start..self.at - 1)
                    .unwrap_or(&[])
                    .trim_ascii_end());
            }
        }
    }

    /// A string, a number, or a flat list of them.
    fn element(&mut self) -> Result<(), String> {
        self.space();
        match self.text.get(self.at) {
            Some(b'"') => self.string().map(drop),
            Some(b'[') => {
                self.at += 1;
                self.space();
                if self.text.get(self.at) == Some(&b']') {
                    self.at += 1;
                    return Ok(());
                }
                loop {
                    self.space();
                    match self.text.get(self.at) {
                        Some(b'"') => self.string().map(drop)?,
                        _ => self.number().map(drop)?,
                    }
                    if self.next_or_close(b']')? {
                        return Ok(());
                    }
                }
            }
            _ => self.number().map(drop),
        }
    }

    /// `[[cost, ...], error_no, all_cost, timestamp]`
    fn result(&mut self, fields: &mut Fields<'a>) -> Result<(), String> {
        self.expect(b'[')?;
        self.expect(b'[')?;
        fields.costs.clear();
        self.space();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
        } else {
            loop {
                let cost = self.decimal("cost")?;
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
        let error_no = self.integer("error_no", &ERROR_NUMBERS)?;
        fields.error_no = i16::try_from(error_no).unwrap_or(i16::MAX);
        self.expect(b',')?;
        fields.all_cost = self.decimal("all_cost")?;
        self.expect(b',')?;
        fields.timestamp = self.integer("timestamp", &SECONDS)?;
        self.expect(b']')
    }
}

/// A piece of input as a message shows it: short, in backticks.
fn shown(text: &[u8]) -> String {
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
            &mut Fields::default(),
            &mut Steps::default(),
        )
        .unwrap_err()
    }

    #[test]
    fn a_line_falls_into_its_fields() {
        let (mut fields, mut steps) = (Fields::default(), Steps::default());
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
            &mut Fields::default(),
            &mut Steps::default(),
        )
        .unwrap();
    }

    #[test]
    fn every_fault_has_its_reason() {
        for (from, to, wanted) in [
            ("\"v\": \"v0.6\"", "\"w\": 1", "unknown key `\"w\"`"),
            (", \"v\": \"v0.6\"", "", "key `v` is missing"),
            (
                "v0.6",
                "v0.9",
                "version `v0.9` is not known: v0.2 to v0.6 are",
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
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE, "{from}");
            assert!(
                reason(&line).contains(wanted),
                "{wanted}: {}",
                reason(&line)
            );
        }
    }

    #[test]
    fn no_cut_line_is_a_record() {
        for end in 0..LINE.len() {
            let cut = LINE.get(..end).unwrap();
            assert!(
                parse(
                    cut.as_bytes(),
                    &mut Fields::default(),
                    &mut Steps::default()
                )
                .is_err()
            );
        }
    }

    /// Bytes that change what a line is made of.
    const SIGNS: &[u8] = b"[]{}\",:\\ 0-1.eEn\x00\xff";

    /// The line after some of its bytes have been changed, left out, doubled, or have changed places.
    fn mutated(changes: &[(proptest::sample::Index, proptest::sample::Index, u8)]) -> Vec<u8> {
        let mut line = LINE.as_bytes().to_vec();
        for (at, with, what) in changes {
            let length = line.len();
            let at = at.index(length);
            match what % 5 {
                0 => line[at] = SIGNS[with.index(SIGNS.len())],
                1 => line.insert(at, SIGNS[with.index(SIGNS.len())]),
                2 => drop(line.remove(at)),
                3 => line.swap(at, with.index(length)),
                _ => {
                    let end = at + with.index(length - at);
                    let part = line[at..end].to_vec();
                    line.splice(at..at, part);
                }
            }
        }
        line
    }

    proptest::proptest! {
        #[test]
        fn a_line_that_was_changed_anywhere_is_refused_or_json(
            changes in proptest::collection::vec(proptest::prelude::any::<(proptest::sample::Index, proptest::sample::Index, u8)>(), 1..4)
        ) {
            let line = mutated(&changes);
            if parse(&line, &mut Fields::default(), &mut Steps::default()).is_ok() {
                let text = String::from_utf8_lossy(&line);
                let json = serde_json::from_slice::<serde::de::IgnoredAny>(&line);
                proptest::prop_assert!(json.is_ok(), "{text}");
            }
        }
    }
}
