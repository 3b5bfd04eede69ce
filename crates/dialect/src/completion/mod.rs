//! Completion of unfinished SQL from the names of a session.
//!
//! The shell and the page of `tsql ui` use it.

mod candidate;
mod statement;
mod tokens;
mod vocabulary;

pub use candidate::Candidate;
pub use statement::{complete_sql, table_candidates};
pub use tokens::{Token, TokenKind, tokenize};

pub use vocabulary::{DocumentedName, TableEntry};
pub use vocabulary::{SharedVocabulary, Vocabulary, is_keyword};
