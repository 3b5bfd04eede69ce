//! Errors of commands as text for people or JSON for programs, and their exit codes.

use std::borrow::Cow;

use clap::ValueEnum;
use datafusion::error::DataFusionError;
use serde_json::{Map, Value, json};
use tsql_error::Error;

use super::command_suggestions::{command, commands};
use super::outcome::{FAILED, Failure, INTERRUPTED, QUERY_FAILED};
use super::printer::PrintError;
use super::renames;
use super::stderr::print_error;

/// Separator between a message and its hint, which has its own line.
const HINT: &str = "\nhint: ";

/// Name of the option.
const OPTION: &str = "--error-format";

/// Variable with the same effect.
pub(super) const VARIABLE: &str = "TSQL_ERROR_FORMAT";

/// Format of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ErrorFormat {
    /// A message, the part of the query with the error, a hint
    #[default]
    Text,
    /// One JSON object on a line: `{"error": {"kind", "message", "hint", "line", "column", "length"}}`
    Json,
}

impl ErrorFormat {
    /// Returns the format that a command line requests, even if the command line cannot be parsed.
    pub(super) fn from_args(args: &[std::ffi::OsString]) -> Self {
        let mut words = args.iter().map(|word| word.to_string_lossy());
        let mut wanted = std::env::var(VARIABLE).ok();
        while let Some(word) = words.next() {
            if word == OPTION {
                wanted = words.next().map(|word| word.into_owned());
            } else if let Some(rest) = word.strip_prefix(OPTION) {
                wanted = rest.strip_prefix('=').map(str::to_owned);
            }
        }
        match wanted.as_deref() {
            Some("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

/// Prints the error of a failed command.
pub(super) fn print_failure(failure: &Failure, format: ErrorFormat) {
    match format {
        ErrorFormat::Text => print_error(&format!("error: {failure}")),
        ErrorFormat::Json => print_error(&in_json(failure).to_string()),
    }
}

/// Kind of a command, which determines the exit code of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    /// Runs a query.
    Asks,
    /// Reports existing data.
    Reports,
    /// Anything else.
    Else,
}

/// Returns the exit code of a failure.
pub(super) fn exit_code(failure: &Failure, kind: CommandKind) -> u8 {
    let interrupted = matches!(failure, Failure::Library(Error::Interrupted));
    if interrupted || tsql_store::are_retries_stopped() {
        return INTERRUPTED;
    }
    match failure {
        Failure::Library(Error::Empty(_)) if kind != CommandKind::Else => QUERY_FAILED,
        _ if kind != CommandKind::Asks => FAILED,
        Failure::Library(Error::Sql(_) | Error::Refused(_)) => QUERY_FAILED,
        Failure::Library(Error::Query(error)) | Failure::Print(PrintError::Query(error)) => {
            match error.find_root() {
                DataFusionError::ObjectStore(_)
                | DataFusionError::IoError(_)
                | DataFusionError::External(_) => FAILED,
                _ => QUERY_FAILED,
            }
        }
        _ => FAILED,
    }
}

fn in_json(failure: &Failure) -> Value {
    let text = failure.to_string();
    let (message, hint) = text.split_once(HINT).unzip();
    let kind = match failure {
        Failure::Usage(_) => "usage",
        Failure::Library(error) => error.kind(),
        Failure::Print(PrintError::Query(_)) => "query",
        Failure::Print(PrintError::Io(_)) => "io",
        Failure::Print(PrintError::Unsupported { .. }) => "unsupported",
    };
    let mut error = Map::new();
    error.insert("kind".to_owned(), kind.into());
    error.insert("message".to_owned(), message.unwrap_or(&text).into());
    error.insert("hint".to_owned(), hint.into());
    if let Failure::Library(Error::Sql(sql_error)) = failure {
        error.insert("message".to_owned(), sql_error.message.as_str().into());
        if let Some(span) = sql_error.span {
            error.insert("line".to_owned(), span.line.into());
            error.insert("column".to_owned(), span.column.into());
            error.insert("length".to_owned(), span.length.into());
        }
    }
    json!({ "error": error })
}

/// Prints an error of the command line: the text of clap for people, our JSON for programs.
pub(super) fn print_usage_error(error: &clap::Error, args: &[std::ffi::OsString]) {
    let format = ErrorFormat::from_args(args);
    if let Some(meant) = command(error.kind(), args) {
        print_failure(&Failure::Usage(meant), format);
        return;
    }
    if let Some(hint) = renames::hint(&commands(), error, args) {
        let fact = error.to_string();
        let fact = fact.lines().next().unwrap_or_default();
        let fact = fact.strip_prefix("error: ").unwrap_or(fact);
        print_failure(&Failure::Usage(format!("{fact}{HINT}{hint}")), format);
        return;
    }
    let printed = error.to_string();
    let text = expect_number(&printed);
    if format == ErrorFormat::Text || !error.use_stderr() {
        match text {
            Cow::Borrowed(_) => {
                let _ = error.print();
            }
            Cow::Owned(text) => print_error(text.trim_end()),
        }
        return;
    }
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    let message = message.split("\n\nUsage:").next().unwrap_or(message);
    let (message, tip) = message.split_once("\n\n  tip: ").unzip();
    let first_line = text.lines().next().unwrap_or_default();
    let first_line = first_line.strip_prefix("error: ").unwrap_or(first_line);
    let full_message = match tip {
        Some(tip) => format!("{}{HINT}{}", message.unwrap_or(first_line), tip.trim_end()),
        None => first_line.to_owned(),
    };
    print_failure(&Failure::Usage(full_message), format);
}

/// Replaces the reason for which Rust rejects a number by the expected value.
fn expect_number(text: &str) -> Cow<'_, str> {
    let found = NUMBERS.iter().find(|(reason, _)| text.contains(reason));
    match found {
        Some((reason, expected)) => Cow::Owned(text.replace(reason, expected)),
        None => Cow::Borrowed(text),
    }
}

/// Reasons for which Rust rejects a number, and the expected value.
const NUMBERS: [(&str, &str); 7] = [
    (
        ": number would be zero for non-zero type",
        ": expected a whole number of at least 1",
    ),
    (
        ": invalid digit found in string",
        ": expected a whole number",
    ),
    (
        ": cannot parse integer from empty string",
        ": expected a whole number",
    ),
    (
        ": number too large to fit in target type",
        ": expected a smaller whole number",
    ),
    (
        ": number too small to fit in target type",
        ": expected a larger whole number",
    ),
    (": invalid float literal", ": expected a number"),
    (
        ": cannot parse float from empty string",
        ": expected a number",
    ),
];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn the_format_is_known_before_arguments_are_read() {
        let args = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            ErrorFormat::from_args(&args(&["tsql", "--error-format", "json"])),
            ErrorFormat::Json
        );
        assert_eq!(
            ErrorFormat::from_args(&args(&["tsql", "x", "--error-format=json"])),
            ErrorFormat::Json
        );
        assert_eq!(
            ErrorFormat::from_args(&args(&["tsql", "--error-format"])),
            ErrorFormat::Text
        );
    }

    #[test]
    fn rejected_numbers_name_the_expected_value() {
        let text = |number: &str| {
            let parsed: Result<std::num::NonZeroUsize, _> = number.parse();
            format!("invalid value '{number}': {}", parsed.unwrap_err())
        };
        for (number, expected) in [
            ("0", "expected a whole number of at least 1"),
            ("x", "expected a whole number"),
            ("", "expected a whole number"),
            ("99999999999999999999999", "expected a smaller whole number"),
        ] {
            let text = expect_number(&text(number)).into_owned();
            assert!(text.ends_with(&format!(": {expected}")), "{text}");
        }
        let float: Result<f64, _> = "x".parse();
        let text = format!("invalid value 'x': {}", float.unwrap_err());
        assert!(expect_number(&text).ends_with(": expected a number"));
        assert_eq!(
            expect_number("invalid value 'x': no"),
            "invalid value 'x': no"
        );
    }

    #[test]
    fn json_errors_have_kind_message_and_hint() {
        let failure = Failure::Usage("no\nhint: do".to_owned());
        assert_eq!(
            in_json(&failure),
            json!({"error": {"kind": "usage", "message": "no", "hint": "do"}})
        );
        let failure = Failure::Library(Error::NoStore);
        assert_eq!(in_json(&failure)["error"]["kind"], "no_store");
    }
}
