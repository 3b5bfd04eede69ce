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

mod exhausted;
mod kind;
mod nearest;
mod plain;
pub mod redact;
mod sql_error;

use exhausted::exhausted;
pub use nearest::{nearest, with_near_file};
pub use plain::plain;
use redact::without_secrets;
pub use sql_error::{SqlError, SqlSpan};

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Every failure leaves the store as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The place that was named holds no store.
    #[error("`{location}` is not a tsql store\nhint: {hint}", location = without_secrets(location), hint = without_secrets(hint))]
    NotAStore {
        /// Directory or URL as it was given.
        location: String,
        /// A way out.
        hint: String,
    },

    /// No place was named, and there is no store in the working directory or above it.
    #[error(
        "there is no store here or above\nhint: `tsql ingest FILES` makes one, --store DIR names one, --sample asks the small one that is built in"
    )]
    NoStore,

    /// The store that was found belongs to somebody else, and nobody has named it.
    #[error(
        "the store `{location}` belongs to {owner}\nhint: --store {location} uses it nevertheless, `tsql init` makes one here"
    )]
    Foreign {
        /// Where it was found.
        location: String,
        /// Whose it is: `alice (uid 1000)`.
        owner: String,
    },

    /// A store cannot be made here, because one or something else is here already.
    #[error("`{}` {reason}", without_secrets(location))]
    CannotCreate {
        /// Directory or URL as it was given.
        location: String,
        /// What is in the way.
        reason: String,
    },

    /// The store, or one of its tables, was written by a newer tsql.
    #[error(
        "{what} has version {found}, this tsql reads up to {supported}\nhint: install a newer tsql"
    )]
    TooNew {
        /// `store` or the table's name.
        what: String,
        /// The version that was found.
        found: i64,
        /// The newest version that this build reads.
        supported: i64,
    },

    /// A name that must be one of a known few is not.
    #[error("no {kind} named `{name}`\nhint: {}", among(name, known))]
    Unknown {
        /// What was looked for: a table, a query, a format.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The known ones, comma separated.
        known: String,
    },

    /// An argument or option that cannot be used.
    #[error("{}", without_secrets(reason))]
    Argument {
        /// Its name: that of a field of an options struct, of a parameter, of a column.
        name: &'static str,
        /// Why, and what could be.
        reason: String,
    },

    /// A name that stands for several things.
    #[error("{}", without_secrets(.0))]
    Ambiguous(String),

    /// No place that a store can be at, or a URL that is not opened.
    #[error("{}", without_secrets(.0))]
    InvalidLocation(String),

    /// A setting, of the environment or of a file, that cannot be used.
    #[error("{}", without_secrets(.0))]
    Setting(String),

    /// SQL that is not answered, and what may be written instead.
    #[error("{}", without_secrets(.0))]
    Refused(String),

    /// No version of a store or of a table, or one that its log does not have any more.
    #[error("{0}")]
    NoVersion(String),

    /// A change was asked for of a store as it was.
    #[error("a store as it was cannot be changed\nhint: leave out --at")]
    ReadOnly,

    /// The store has nothing of what the call is about.
    #[error("{0}")]
    Empty(String),

    /// A data file is gone that was written, but not committed yet: nothing was.
    #[error(
        "{table}: `{file}` was deleted before it was committed, so nothing was: `tsql vacuum` took it for a left-over\nhint: run the same command again"
    )]
    Vacuumed {
        /// The table.
        table: String,
        /// Path of the file in the table's folder.
        file: String,
    },

    /// Another run has rewritten the files that this one was to rewrite.
    #[error(
        "optimize {table}: another run has rewritten the same files\nhint: nothing is lost, run it again"
    )]
    Rewritten {
        /// The table.
        table: String,
    },

    /// A stream takes nothing more: it was closed, or failed before.
    #[error("the stream is closed")]
    Closed,

    /// This build, or this machine, cannot do it.
    #[error("{0}")]
    Unsupported(String),

    /// A kernel could not be built, run or timed.
    #[error("{}", without_secrets(.0))]
    Measuring(String),

    /// A defect of tsql.
    #[error("{0}\nhint: this is a defect of tsql: please report it")]
    Internal(String),

    /// A picture could not be drawn, and why.
    #[error("{0}")]
    Drawing(String),

    /// A file or directory could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// An input line was refused and the caller asked to stop at the first (`--strict`).
    #[error("{}:{line}: {reason}", without_secrets(path))]
    Rejected {
        /// The input file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// Why it was refused.
        reason: String,
    },

    /// The store holds something that it should not: damage, or a writer that broke the rules.
    #[error("{table}: {reason}\nhint: `tsql check` lists all damage")]
    Damaged {
        /// The table.
        table: String,
        /// What is wrong.
        reason: String,
    },

    /// Other writers kept winning until the deadline.
    #[error(
        "{table}: gave up after {seconds} s of conflicts with other writers\nhint: run the same command again; nothing was doubled"
    )]
    Contended {
        /// The table.
        table: String,
        /// Seconds spent trying.
        seconds: u64,
    },

    /// The storage below the store failed.
    #[error("{}", storage_message(.0))]
    Storage(#[source] object_store::Error),

    /// The table log refused an action.
    #[error("table {table}: {message}")]
    Log {
        /// The table.
        table: String,
        /// The log's own message.
        message: String,
    },

    /// The SQL is wrong.
    #[error("{0}")]
    Sql(Box<SqlError>),

    /// Running SQL failed.
    #[error("{}", query_message(.0))]
    Query(#[source] DataFusionError),

    /// The run was interrupted (Ctrl-C).
    #[error("interrupted; what was committed stays, the same command goes on from there")]
    Interrupted,

    /// A source was given that could not be opened or found.
    #[error("{}: {}", without_secrets(location), without_secrets(reason))]
    Source {
        /// The path or pattern as given.
        location: String,
        /// What is wrong with it.
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

    /// Returns a function that builds the error of an I/O call on `path`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
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
                let reason = with_near_file(&location, reason);
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

/// A file of the store whose bytes are not those that were written. Engines make text of what they are
/// given, so the message can be found in a longer one.
#[derive(Debug, thiserror::Error)]
#[error("{BEGIN}{file}`: {found} {END}")]
pub struct DamagedFile {
    file: String,
    found: String,
}

/// How the message of a [`DamagedFile`] begins.
const BEGIN: &str = "damaged file `";

/// How it ends.
const END: &str = "not what was written";

impl DamagedFile {
    /// `found` says which bytes are, or how many bytes there are.
    pub fn new(file: &str, found: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            found: found.into(),
        }
    }

    /// The message in a text, with the way out.
    fn message_in(text: &str) -> Option<String> {
        let (_, rest) = text.split_once(BEGIN)?;
        let (rest, _) = rest.split_once(END)?;
        let hint = "`tsql check --repair` restores what can be restored, and says what is lost";
        Some(format!("{BEGIN}{rest}{END}\nhint: {hint}"))
    }
}

fn storage_message(error: &object_store::Error) -> String {
    let text = error.to_string();
    DamagedFile::message_in(&text).unwrap_or_else(|| format!("storage: {}", without_secrets(&text)))
}

/// The name that was meant, or all names.
fn among(name: &str, known: &str) -> String {
    if known.is_empty() {
        return "there is none".to_owned();
    }
    let names = known.split(", ").map(|name| name.trim_matches('`'));
    match nearest(name, names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {known}"),
    }
}

/// The message of an engine error without back traces and wrapping prose, and what to do about it.
pub fn query_message(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let text = without_secrets(text.trim_end());
    if let Some(found) = DamagedFile::message_in(&text) {
        return found;
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => exhausted(reason),
        _ => match way_out(&text) {
            Some(hint) => format!("{}\nhint: {hint}", plain(&text)),
            None => plain(&text),
        },
    }
}

/// What may be written instead of what the engine does not take, where that is known.
pub fn way_out(text: &str) -> Option<&'static str> {
    let found = WAYS_OUT.iter().find(|(refused, _)| text.contains(refused));
    found.map(|(_, hint)| *hint)
}

/// What the engine says to SQL that it does not take, and what to write instead.
const WAYS_OUT: [(&str, &str); 11] = [
    (
        "Physical plan does not support logical expression ScalarSubquery",
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
