//! Reading a JSON object in which one field is a long list or object of trials.

use std::io::BufRead;

use crate::document::End;
use crate::error::Error;
use crate::json::{Failure, Found, JsonStream, Span};
use crate::output::{FormatReader, Output};
use crate::value::Value;

/// A format whose trials are elements of one field.
pub(super) trait ElementFormat {
    /// Returns the opening bracket if the elements of this field are trials. An empty name is the document itself.
    fn opens(&self, field: &str) -> Option<u8>;

    /// Takes another field of the document: a setting, if the format does not say otherwise.
    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        output.setting(name, value);
        Ok(())
    }

    /// Takes one element. An error rejects it.
    fn element(
        &mut self,
        key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String>;

    /// Returns whether text may precede the document, such as the name of a variable.
    fn has_preamble(&self) -> bool {
        false
    }

    /// Takes the end of the document. An error rejects the file.
    fn finish(&mut self, _output: &mut Output) -> Result<(), String> {
        Ok(())
    }
}

/// Reads such a document.
pub(super) struct Elements<R, F> {
    stream: JsonStream<R>,
    format: F,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Start,
    Fields,
    Elements(u8, bool),
}

impl<R: BufRead, F: ElementFormat> Elements<R, F> {
    pub(super) fn new(input: R, format: F) -> Self {
        Self {
            stream: JsonStream::new(input),
            format,
            state: State::Start,
        }
    }

    fn fields(&mut self, output: &mut Output) -> Result<bool, Error> {
        match self.stream.next_key()? {
            Found::Key(key) => {
                let line = self.stream.line();
                if let Some(bracket) = self.format.opens(&key)
                    && self.stream.open(bracket)?
                {
                    self.state = State::Elements(bracket + 2, false);
                    return Ok(true);
                }
                match self.stream.read_value()? {
                    Ok((value, _)) => {
                        if let Err(reason) = self.format.field(&key, value, output) {
                            output.reject(line, reason);
                        }
                        Ok(true)
                    }
                    Err(Failure::Incomplete) => Ok(truncated(line, output)),
                    Err(Failure::Invalid(_, reason)) => {
                        Err(Error::header(line, format!("`{key}`: {reason}")))
                    }
                }
            }
            Found::End => {
                output.document.end = End::Closed;
                Ok(false)
            }
            Found::Bad(line, reason) => {
                output.reject(line, reason);
                output.document.end = End::Truncated;
                Ok(false)
            }
            _ => Ok(truncated(self.stream.line(), output)),
        }
    }

    fn elements(&mut self, close: u8, top: bool, output: &mut Output) -> Result<bool, Error> {
        match self.stream.next_element(close)? {
            Found::Element { key, value, span } => {
                if let Err(reason) = self.format.element(key, value, &span, output) {
                    output.reject(span.line, reason);
                }
                Ok(true)
            }
            Found::End if top => {
                output.document.end = End::Closed;
                Ok(false)
            }
            Found::End => {
                self.state = State::Fields;
                Ok(true)
            }
            Found::Bad(line, reason) => {
                output.reject(line, reason);
                Ok(true)
            }
            Found::Truncated(line) => Ok(truncated(line, output)),
            _ => Ok(truncated(self.stream.line(), output)),
        }
    }
}

fn truncated(line: u64, output: &mut Output) -> bool {
    output.reject(line, "the file ends before its closing bracket");
    output.document.end = End::Truncated;
    false
}

impl<R: BufRead, F: ElementFormat> FormatReader for Elements<R, F> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        let more = self.read_on(output)?;
        if !more {
            let finished = self.format.finish(output);
            finished.map_err(|reason| Error::header(1, reason))?;
        }
        Ok(more)
    }
}

impl<R: BufRead, F: ElementFormat> Elements<R, F> {
    fn read_on(&mut self, output: &mut Output) -> Result<bool, Error> {
        match self.state {
            State::Start => {
                if self.format.has_preamble() {
                    self.stream.pass_to(b'{')?;
                }
                if self.format.opens("") == Some(b'[') {
                    if !self.stream.open(b'[')? {
                        return Err(Error::header(self.stream.line(), "expected a list"));
                    }
                    self.state = State::Elements(b']', true);
                    return Ok(true);
                }
                if !self.stream.open(b'{')? {
                    return Err(Error::header(self.stream.line(), "expected an object"));
                }
                self.state = if self.format.opens("").is_some() {
                    State::Elements(b'}', true)
                } else {
                    State::Fields
                };
                Ok(true)
            }
            State::Fields => self.fields(output),
            State::Elements(close, top) => self.elements(close, top, output),
        }
    }
}
