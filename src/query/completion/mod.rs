//! Completion of unfinished SQL from the names of a session.
//!
//! The shell and the page of `tsql ui` use it.

mod candidate;
mod statement;
mod tokens;
mod vocabulary;

pub(crate) use candidate::Candidate;
pub(crate) use statement::{complete_sql, table_candidates};
pub(crate) use tokens::{Token, TokenKind, tokenize};
#[cfg(test)]
pub(crate) use vocabulary::{DocumentedName, TableEntry};
pub(crate) use vocabulary::{SharedVocabulary, Vocabulary, is_keyword};
