//! Errors as JSON for the page.

use serde::Serialize;
use tsql_error::Error;
use tsql_error::redact::redact_urls;

/// Location in the query text: line and column from 1, in characters.
#[derive(Debug, Serialize)]
struct ErrorSpan {
    line: usize,
    column: usize,
    length: usize,
}

/// An error.
#[derive(Debug, Serialize)]
pub(super) struct ErrorBody {
    kind: &'static str,
    message: String,
    hint: Option<String>,
    span: Option<ErrorSpan>,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        if let Error::Sql(mistake) = error {
            return Self {
                kind: error.kind(),
                message: redact_urls(&mistake.message).into_owned(),
                hint: mistake.hint.clone(),
                span: mistake.span.map(|span| ErrorSpan {
                    line: span.line,
                    column: span.column,
                    length: span.length,
                }),
            };
        }
        let text = error.to_string();
        let (message, hint) = match text.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        Self {
            kind: error.kind(),
            message,
            hint,
            span: None,
        }
    }
}
