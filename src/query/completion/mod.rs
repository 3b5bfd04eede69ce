//! What can stand where somebody types: the names of a session, and SQL that is not finished yet.
//!
//! The shell and the page of `tsql ui` suggest by it.

mod candidate;
mod statement;
mod tokens;
mod vocabulary;

pub(crate) use candidate::Candidate;
pub(crate) use statement::{of_sql, tables};
pub(crate) use tokens::{Kind, Token, tokens};
#[cfg(test)]
pub(crate) use vocabulary::{Known, Named};
pub(crate) use vocabulary::{Shared, Vocabulary, is_keyword};
