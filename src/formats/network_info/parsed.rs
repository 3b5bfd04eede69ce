//! What was read of a file.

use tsql_formats::tenset::networks::{Content, Network};

use crate::ledger::Closed;

/// A file that was parsed.
pub(crate) struct Read {
    /// What its name says.
    pub(super) network: Option<Network>,
    pub(super) content: Content,
    pub(super) text_id: i64,
    pub(super) bytes: Vec<u8>,
    pub(super) closed: Closed,
}
