//! JSON with exact number texts: a parser of values and a stream of elements.

mod parse;
mod stream;

pub(crate) use parse::{Failure, parse};
pub(crate) use stream::{Found, JsonStream, Span};

/// Parses JSON. Numbers keep their text; `NaN` and `Infinity` are numbers, as Python writes them. Returns `None` for other
/// text.
#[must_use]
pub fn parse_json(text: &str) -> Option<crate::value::Value> {
    parse(text.as_bytes()).ok()
}
