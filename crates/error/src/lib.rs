#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a test fails by panicking"
    )
)]

use std::path::PathBuf;

use datafusion_common::DataFusionError;

mod kind;
mod nearest;
mod plain_message;
pub mod redact;
mod resource_exhausted;
mod server_error;
mod sql_error;

pub use nearest::{nearest, with_similar_file};
pub use plain_message::plain_message;
use redact::redact_urls;
use resource_exhausted::resource_exhausted_message;
use server_error::server_message;
pub use sql_error::{SqlError, SqlSpan};

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed. Every failure leaves the store unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The given location holds no store.
    #[error("`{location}` is not a tsql store\nhint: {hint}", location = redact_urls(location), hint = redact_urls(hint))]
    NotAStore {
        /// Directory or URL as given.
        location: String,
        /// Suggested fix.
        hint: String,
    },

    /// No location was given, and there is no store in the working directory or above it.
    #[error(
        "there is no store here or above\nhint: `tsql ingest FILES` creates one, --store DIR selects one, --sample selects the built-in one"
    )]
    NoStore,

    /// The discovered store belongs to another user, and its location was not given explicitly.
    #[error(
        "the store `{location}` belongs to {owner}\nhint: --store {location} uses it nevertheless, `tsql init` creates one here"
    )]
    Foreign {
        /// Location of the store.
        location: String,
        /// Its owner: `alice (uid 1000)`.
        owner: String,
    },

    /// A store cannot be created here, because a store or something else exists already.
    #[error("`{}` {reason}", redact_urls(location))]
    CannotCreate {
        /// Directory or URL as given.
        location: String,
        /// Reason.
        reason: String,
    },

    /// The store, or one of its tables, was written by a newer tsql.
    #[error(
        "{what} has version {found}, this tsql reads up to {supported}\nhint: install a newer tsql"
    )]
    TooNew {
        /// `store` or the table's name.
        what: String,
        /// Version of the store or table.
        found: i64,
        /// Newest version that this build reads.
        supported: i64,
    },

    /// A name that is not one of a fixed set.
    #[error("no {kind} named `{name}`\nhint: {}", suggestion(name, known))]
    Unknown {
        /// Kind of the name: a table, a query, a format.
        kind: &'static str,
        /// The given name.
        name: String,
        /// Valid names, comma separated; or `none yet` or `no ...`, with a way to create one.
        known: String,
    },

    /// An invalid argument or option.
    #[error("{}", redact_urls(reason))]
    Argument {
        /// Its name: a field of an options struct, a parameter, or a column.
        name: &'static str,
        /// Reason, and valid values.
        reason: String,
    },

    /// A name that matches several things.
    #[error("{}", redact_urls(.0))]
    Ambiguous(String),

    /// An invalid store location, or a URL with an unsupported scheme.
    #[error("{}", redact_urls(.0))]
    InvalidLocation(String),

    /// An invalid setting in the environment or in a file.
    #[error("{}", redact_urls(.0))]
    Setting(String),

    /// Rejected SQL, with an alternative.
    #[error("{}", redact_urls(.0))]
    Refused(String),

    /// A version of a store or table that does not exist, or that its log does not have any more.
    #[error("{0}")]
    NoVersion(String),

    /// A change of a store that was opened at an older version.
    #[error("a store at an earlier version cannot be changed\nhint: leave out --at")]
    ReadOnly,

    /// The store has no data for the call.
    #[error("{0}")]
    Empty(String),

    /// A data file was deleted between writing and commit. Nothing was committed.
    #[error(
        "{table}: `tsql vacuum` deleted `{file}` before its commit, so nothing was committed\nhint: run the same command again"
    )]
    Vacuumed {
        /// The table.
        table: String,
        /// Path of the file in the table's folder.
        file: String,
    },

    /// Another run has rewritten the files that this run was going to rewrite.
    #[error(
        "optimize {table}: another run has rewritten the same files\nhint: nothing is lost, run it again"
    )]
    Rewritten {
        /// The table.
        table: String,
    },

    /// The stream accepts no more input: it was closed, or failed before.
    #[error("the stream is closed")]
    Closed,

    /// Not supported by this build or this machine.
    #[error("{0}")]
    Unsupported(String),

    /// A kernel could not be built, run or timed.
    #[error("{}", redact_urls(.0))]
    Measuring(String),

    /// A bug in tsql.
    #[error("{0}\nhint: this is a defect of tsql: please report it")]
    Internal(String),

    /// A plot could not be drawn, with the reason.
    #[error("{0}")]
    Drawing(String),

    /// A file or directory could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },

    /// An input line was rejected, and the caller stops at the first (`--strict`).
    #[error("{}:{line}: {reason}", redact_urls(path))]
    Rejected {
        /// The input file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// Reason of the rejection.
        reason: String,
    },

    /// The store is inconsistent: damage, or a writer that broke the rules.
    #[error("{table}: {reason}\nhint: `tsql check` lists all damage")]
    Damaged {
        /// The table.
        table: String,
        /// Description of the damage.
        reason: String,
    },

    /// Other writers won every attempt until the deadline.
    #[error(
        "{table}: gave up after {seconds} s of conflicts with other writers\nhint: run the same command again; nothing was written twice"
    )]
    Contended {
        /// The table.
        table: String,
        /// Seconds spent trying.
        seconds: u64,
    },

    /// The underlying storage failed.
    #[error("{}", storage_message(.0))]
    Storage(#[source] object_store::Error),

    /// The table log rejected an action.
    #[error("table {table}: {message}")]
    Log {
        /// The table.
        table: String,
        /// Message of the log.
        message: String,
    },

    /// Invalid SQL.
    #[error("{0}")]
    Sql(Box<SqlError>),

    /// Execution of SQL failed.
    #[error("{}", query_message(.0))]
    Query(#[source] DataFusionError),

    /// The run was interrupted (Ctrl-C).
    #[error("interrupted; committed data is preserved, and the same command continues from there")]
    Interrupted,

    /// A source could not be opened or found.
    #[error("{}: {}", redact_urls(location), redact_urls(reason))]
    Source {
        /// The path or pattern as given.
        location: String,
        /// Reason.
        reason: String,
    },
}

impl Error {
    /// Returns whether another attempt may succeed: the network or the server failed, not the request.
    /// A full disk stays full.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Storage(object_store::Error::Generic { .. }))
    }

    /// Returns whether the error names a file of the store whose bytes have changed.
    pub fn is_damaged_file(&self) -> bool {
        DamagedFile::message_in(&self.to_string()).is_some()
    }

    /// Returns a function that builds the error of an I/O call on `path`. If its folder is missing, the error names it.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path: PathBuf = path.into();
        move |source| {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let missing = folder
                .filter(|folder| source.kind() == std::io::ErrorKind::NotFound && !folder.exists());
            let source = match missing {
                Some(folder) => {
                    let reason = format!("the folder `{}` does not exist", folder.display());
                    std::io::Error::new(std::io::ErrorKind::NotFound, reason)
                }
                None => source,
            };
            Self::Io { path, source }
        }
    }

    /// Builds a [`Error::Damaged`] for `table`.
    pub fn damaged(table: &str, reason: impl Into<String>) -> Self {
        Self::Damaged {
            table: table.to_owned(),
            reason: reason.into(),
        }
    }
}

impl From<tsql_formats::Error> for Error {
    fn from(error: tsql_formats::Error) -> Self {
        use tsql_formats::Error as Of;
        match error {
            Of::Io { path, source } => Self::Io { path, source },
            Of::Source { location, reason } => {
                let reason = with_similar_file(&location, reason);
                Self::Source { location, reason }
            }
            Of::TooNew {
                what,
                found,
                supported,
            } => Self::TooNew {
                what,
                found,
                supported,
            },
        }
    }
}

impl From<tsql_folders::Error> for Error {
    fn from(error: tsql_folders::Error) -> Self {
        use tsql_folders::Error as Failed;
        match error {
            Failed::Io { path, source } => Self::Io { path, source },
            Failed::Refused { folder, reason } => Self::Source {
                location: folder.display().to_string(),
                reason,
            },
        }
    }
}

#[cfg(all(feature = "measure", target_os = "linux"))]
impl From<tsql_measure::Error> for Error {
    fn from(error: tsql_measure::Error) -> Self {
        use tsql_measure::Error as Failed;
        match error {
            Failed::Unknown { kind, name, known } => Self::Unknown { kind, name, known },
            Failed::Argument { name, reason } => Self::Argument { name, reason },
            Failed::Missing(what) => Self::Unsupported(what),
            Failed::Reference(reason) | Failed::Worker(reason) => Self::Measuring(reason),
            Failed::Io { path, source } => Self::Io { path, source },
            Failed::Source { location, reason } => Self::Source { location, reason },
            Failed::Folder(error) => error.into(),
        }
    }
}

/// Error of a file of the store whose bytes differ from those that were written. Engines convert errors to text, so the
/// message can be found within a longer text.
#[derive(Debug, thiserror::Error)]
#[error("{BEGIN}{file}`: {found} {END}")]
pub struct DamagedFile {
    file: String,
    found: String,
}

/// First part of the message of a [`DamagedFile`].
const BEGIN: &str = "damaged file `";

/// Last part of the message.
const END: &str = "not as written";

impl DamagedFile {
    /// Creates the error. `found` describes the damaged bytes, or the number of bytes.
    pub fn new(file: &str, found: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            found: found.into(),
        }
    }

    /// Finds the message, with its hint, in a text.
    fn message_in(text: &str) -> Option<String> {
        let (_, rest) = text.split_once(BEGIN)?;
        let (rest, _) = rest.split_once(END)?;
        let hint = "`tsql check --repair` restores the recoverable data, and lists the lost data";
        Some(format!("{BEGIN}{rest}{END}\nhint: {hint}"))
    }
}

/// Returns the message of a storage error, with a hint for rejected requests.
pub fn storage_message(error: &object_store::Error) -> String {
    let text = error.to_string();
    if let Some(found) = DamagedFile::message_in(&text) {
        return found;
    }
    let text = redact_urls(&text);
    server_message(&text).unwrap_or_else(|| format!("storage: {text}"))
}

/// Returns the most similar known name, or all names.
fn suggestion(name: &str, known: &str) -> String {
    if known.is_empty() {
        return "there are none".to_owned();
    }
    if is_sentence(known) {
        return format!("there are {known}");
    }
    let names = known.split(", ").map(|name| name.trim_matches('`'));
    match nearest(name, names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {known}"),
    }
}

/// Returns whether a text states that there are no names, instead of listing them. It is no name to suggest.
fn is_sentence(known: &str) -> bool {
    ["no ", "none yet"]
        .iter()
        .any(|begin| known.starts_with(begin))
}

/// Returns the message of an engine error without back traces and prefixes, with a hint.
pub fn query_message(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let text = redact_urls(text.trim_end());
    if let Some(found) = DamagedFile::message_in(&text) {
        return found;
    }
    if let Some(found) = server_message(&text) {
        return found;
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => resource_exhausted_message(reason),
        _ => match sql_hint(&text) {
            Some(hint) => format!("{}\nhint: {hint}", plain_message(&text)),
            None => plain_message(&text),
        },
    }
}

/// Returns the hint for SQL that the engine does not support, if there is one.
pub fn sql_hint(text: &str) -> Option<&'static str> {
    let found = SQL_HINTS.iter().find(|(refused, _)| text.contains(refused));
    found.map(|(_, hint)| *hint)
}

/// Engine messages for unsupported SQL, and the alternative for each.
const SQL_HINTS: [(&str, &str); 13] = [
    (
        "Physical plan does not support logical expression ScalarSubquery",
        "a join with a subquery that has GROUP BY or row_number() OVER (PARTITION BY ...)",
    ),
    (
        "orrelated scalar subquery can only be used in",
        "a join with a subquery that has GROUP BY or row_number() OVER (PARTITION BY ...)",
    ),
    (
        "__correlated_sq_",
        "a join with a subquery that has GROUP BY or row_number() OVER (PARTITION BY ...)",
    ),
    (
        "table function 'unnest' not found",
        "SELECT ..., unnest(list) AS value FROM ..., without a join",
    ),
    (
        "Physical plan does not support logical expression OuterReferenceColumn",
        "a join with a subquery that has GROUP BY or row_number() OVER (PARTITION BY ...), \
         or for lists SELECT ..., unnest(list) AS value FROM ...",
    ),
    (
        "Physical plan does not support logical expression InSubquery",
        "in WHERE, or as a column of a subquery in FROM: SELECT x IN (SELECT ...) AS is_in",
    ),
    (
        "Physical plan does not support logical expression Exists",
        "in WHERE, or as a column of a subquery in FROM: SELECT EXISTS (SELECT ...) AS is_in",
    ),
    (
        "In/Exist/SetComparison subquery can only be used in",
        "in WHERE, or as a column of a subquery in FROM: SELECT x IN (SELECT ...) AS is_in",
    ),
    (
        "Physical plan does not support logical expression WindowFunction",
        "QUALIFY instead of WHERE, or a column of a subquery in FROM",
    ),
    (
        "scalar subquery must be aggregated to return at most one row",
        "an aggregate such as max(value), or ORDER BY ... LIMIT 1 in it",
    ),
    (
        "error parsing time",
        "a time is written with its seconds: '2026-01-31 12:00:00'",
    ),
    (
        "The subquery should only return one column",
        "EXISTS (SELECT 1 FROM (...) AS t WHERE t.x = a AND t.y = b)",
    ),
    (
        "Expected: SELECT, VALUES, or a subquery in the query body",
        "a set operation takes two queries",
    ),
];
