//! Literals of Python: numbers, text, `None`, `True`, `False`, lists, tuples and `name=value` pairs.

use crate::value::{Fields, Number, Value};

/// Nesting limit of a literal.
const MAX_DEPTH: usize = 32;

/// Parses `Name(a=1, b=[None, 'x'])` and returns the pairs.
pub(super) fn parse_call(text: &str, name: &str) -> Result<Fields, String> {
    let reason = || format!("expected `{name}(...)`");
    let body = text
        .trim()
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('('));
    let body = body
        .and_then(|rest| rest.strip_suffix(')'))
        .ok_or_else(reason)?;
    parse_pairs(body)
}

/// Parses `a=1, b='x'`.
pub(super) fn parse_pairs(text: &str) -> Result<Fields, String> {
    let mut parser = Parser { rest: text.trim() };
    let mut fields = Fields::new();
    while !parser.rest.is_empty() {
        let (name, rest) = parser.rest.split_once('=').ok_or("expected `name=value`")?;
        let name = name.trim();
        let plain = |character: char| character.is_alphanumeric() || character == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("`{name}` is no name"));
        }
        parser.rest = rest.trim_start();
        let value = parser.value(0)?;
        fields.push((name.to_owned(), value));
        if !parser.take(',') && !parser.rest.is_empty() {
            return Err("expected `,` between pairs".to_owned());
        }
    }
    Ok(fields)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        let trimmed = self.rest.trim_start();
        let found = trimmed.strip_prefix(symbol);
        self.rest = found.unwrap_or(trimmed).trim_start();
        found.is_some()
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        if self.take('[') {
            return self.list(']', depth);
        }
        if self.take('(') {
            return self.list(')', depth);
        }
        if self.take('{') {
            return self.dictionary(depth);
        }
        if let Some(quote @ ('\'' | '"')) = self.rest.chars().next() {
            return self.text(quote);
        }
        let end = |character: char| ",])}:".contains(character) || character.is_whitespace();
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        let word = self.rest.get(..length).unwrap_or_default();
        self.rest = self.rest.get(length..).unwrap_or_default();
        match word {
            "None" => Ok(Value::Null),
            "True" => Ok(Value::Bool(true)),
            "False" => Ok(Value::Bool(false)),
            _ => Number::parse(word)
                .map(Value::Number)
                .ok_or_else(|| format!("`{word}` is no literal")),
        }
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Value, String> {
        let mut list = Vec::new();
        while !self.take(close) {
            list.push(self.value(depth + 1)?);
            if !self.take(',') && !self.rest.starts_with(close) {
                return Err(format!("expected `,` or `{close}`"));
            }
        }
        Ok(Value::List(list))
    }

    fn dictionary(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Fields::new();
        while !self.take('}') {
            let name = match self.value(depth + 1)? {
                Value::Text(text) => text,
                other => other.to_json(),
            };
            if !self.take(':') {
                return Err("expected `:`".to_owned());
            }
            fields.push((name, self.value(depth + 1)?));
            if !self.take(',') && !self.rest.starts_with('}') {
                return Err("expected `,` or `}`".to_owned());
            }
        }
        Ok(Value::Object(fields))
    }

    fn text(&mut self, quote: char) -> Result<Value, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other @ ('\\' | '\'' | '"'))) => text.push(other),
                    _ => return Err("unknown escape".to_owned()),
                },
                end if end == quote => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Ok(Value::Text(text));
                }
                other => text.push(other),
            }
        }
        Err("text without its end".to_owned())
    }
}
