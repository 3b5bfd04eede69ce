//! Errors as gRPC statuses.

use tonic::{Code, Status};
use tsql_error::Error;
use tsql_error::redact::redact_urls;

/// Maximum length of a message in bytes. Clients limit the size of all headers to 8 KiB.
const MAX_MESSAGE_BYTES: usize = 2048;

/// Returns the status of an error: its message, hint and position.
pub(crate) fn status(error: &Error) -> Status {
    let text = match error {
        Error::Sql(sql) => {
            let mut text = sql.message.clone();
            if let Some(span) = &sql.span {
                text += &format!(" (line {}, column {})", span.line, span.column);
            }
            if let Some(hint) = &sql.hint {
                text += &format!("\nhint: {hint}");
            }
            text
        }
        _ => error.to_string(),
    };
    let text = redact_urls(&text);
    let end = text.floor_char_boundary(MAX_MESSAGE_BYTES);
    Status::new(code(error, &text), text.get(..end).unwrap_or_default())
}

fn code(error: &Error, text: &str) -> Code {
    if text.starts_with("not enough memory") || text.starts_with("no space left") {
        return Code::ResourceExhausted;
    }
    match error.kind() {
        "sql" | "argument" | "ambiguous" | "setting" | "unknown_name" | "empty" => {
            Code::InvalidArgument
        }
        "unsupported" => Code::Unimplemented,
        "no_store" | "not_a_store" | "no_version" => Code::NotFound,
        "damaged" => Code::DataLoss,
        "conflict" => Code::Aborted,
        "io" | "storage" => Code::Unavailable,
        _ => Code::Internal,
    }
}

/// Status of a request that would write.
pub(crate) fn rejected_write() -> Status {
    Status::permission_denied(
        "the service is read-only, and accepts only queries\nhint: the command `tsql` writes",
    )
}
