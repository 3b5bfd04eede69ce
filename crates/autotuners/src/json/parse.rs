//! A parser of JSON values that keeps number texts and field order, and takes `NaN` and `Infinity` as Python writes them.

use crate::value::{Fields, Number, Value};

/// Nesting limit of a value.
const MAX_DEPTH: usize = 128;

/// Reason why a value could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The input ends inside the value.
    Incomplete,
    /// The input is no JSON from this position on.
    Invalid(usize, &'static str),
}

/// Parses a whole text as one value.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    let (value, used) = parse_prefix(bytes, true, false)?;
    let rest = bytes.get(used..).unwrap_or_default();
    if rest.iter().all(u8::is_ascii_whitespace) {
        Ok(value)
    } else {
        Err(Failure::Invalid(used, "text behind the value"))
    }
}

/// Parses the value at the beginning and returns the number of bytes it takes. `is_end`: no more bytes follow, so a
/// number may end with the input. `is_flat`: objects inside the value are invalid.
pub(crate) fn parse_prefix(
    bytes: &[u8],
    is_end: bool,
    is_flat: bool,
) -> Result<(Value, usize), Failure> {
    let mut parser = Parser {
        bytes,
        position: 0,
        is_end,
        is_flat,
    };
    let value = parser.value(0)?;
    Ok((value, parser.position))
}

struct Parser<'a> {
    bytes: &'a [u8],
    position: usize,
    is_end: bool,
    is_flat: bool,
}

impl Parser<'_> {
    fn invalid<T>(&self, reason: &'static str) -> Result<T, Failure> {
        Err(Failure::Invalid(self.position, reason))
    }

    fn peek(&mut self) -> Result<u8, Failure> {
        while let Some(byte) = self.bytes.get(self.position) {
            if !byte.is_ascii_whitespace() {
                return Ok(*byte);
            }
            self.position += 1;
        }
        Err(Failure::Incomplete)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        if depth > MAX_DEPTH {
            return self.invalid("nested too deeply");
        }
        match self.peek()? {
            b'{' if self.is_flat && depth > 0 => self.invalid("an object inside an entry"),
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Value::Text),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            b'0'..=b'9' | b'-' | b'N' | b'I' => self.number(),
            _ => self.invalid("expected a value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Failure> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.position += word.len();
            Ok(value)
        } else if word.as_bytes().starts_with(rest) {
            Err(Failure::Incomplete)
        } else {
            self.invalid("expected a value")
        }
    }

    fn number(&mut self) -> Result<Value, Failure> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = rest.iter().position(|byte| !part(byte));
        let length = match length {
            Some(length) => length,
            None if self.is_end => rest.len(),
            None => return Err(Failure::Incomplete),
        };
        let text = std::str::from_utf8(rest.get(..length).unwrap_or_default()).unwrap_or_default();
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = Number::parse(text)
            .filter(|_| plain || matches!(text, "NaN" | "Infinity" | "-Infinity"));
        let Some(number) = number else {
            return self.invalid("not a number");
        };
        self.position += length;
        Ok(Value::Number(number))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Failure> {
        self.position += 1;
        let mut list = Vec::new();
        if self.peek()? == b']' {
            self.position += 1;
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            match self.peek()? {
                b',' => self.position += 1,
                b']' => {
                    self.position += 1;
                    return Ok(Value::List(list));
                }
                _ => return self.invalid("expected `,` or `]`"),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Failure> {
        self.position += 1;
        let mut fields = Fields::new();
        if self.peek()? == b'}' {
            self.position += 1;
            return Ok(Value::Object(fields));
        }
        loop {
            if self.peek()? != b'"' {
                return self.invalid("expected a name in quotes");
            }
            let name = self.string()?;
            if self.peek()? != b':' {
                return self.invalid("expected `:`");
            }
            self.position += 1;
            let value = self.value(depth + 1)?;
            fields.push((name, value));
            match self.peek()? {
                b',' => self.position += 1,
                b'}' => {
                    self.position += 1;
                    return Ok(Value::Object(fields));
                }
                _ => return self.invalid("expected `,` or `}`"),
            }
        }
    }

    fn string(&mut self) -> Result<String, Failure> {
        self.position += 1;
        let mut text = Vec::new();
        loop {
            let rest = self.bytes.get(self.position..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | b'\n'));
            let Some(plain) = plain else {
                return Err(Failure::Incomplete);
            };
            text.extend_from_slice(rest.get(..plain).unwrap_or_default());
            self.position += plain + 1;
            match rest.get(plain) {
                Some(b'"') => {
                    return String::from_utf8(text)
                        .map_err(|_| Failure::Invalid(self.position, "invalid UTF-8"));
                }
                Some(b'\\') => self.escape(&mut text)?,
                _ => return self.invalid("line feed in text"),
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Failure> {
        let byte = *self.bytes.get(self.position).ok_or(Failure::Incomplete)?;
        self.position += 1;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let character = self.unicode()?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.invalid("unknown escape"),
        };
        text.push(plain);
        Ok(())
    }

    /// Parses the four digits behind `\u`, and the second half of a pair. A lone half becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, Failure> {
        let first = self.hex()?;
        let is_high = (0xD800..0xDC00).contains(&first);
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if is_high && rest.starts_with(b"\\u") {
            let before = self.position;
            self.position += 2;
            let second = self.hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.position = before;
        } else if is_high && rest.len() < 2 && !self.is_end {
            return Err(Failure::Incomplete);
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, Failure> {
        let digits = self.bytes.get(self.position..self.position + 4);
        let digits = digits.ok_or(Failure::Incomplete)?;
        let text = std::str::from_utf8(digits).unwrap_or_default();
        let Ok(code) = u32::from_str_radix(text, 16) else {
            return self.invalid("expected four hexadecimal digits");
        };
        self.position += 4;
        Ok(code)
    }
}
