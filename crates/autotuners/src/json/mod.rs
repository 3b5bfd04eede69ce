//! JSON with exact number texts: a parser of values and a stream of elements.

mod parse;
mod stream;

pub(crate) use parse::{Failure, parse};
pub(crate) use stream::{Found, JsonStream, Span};
