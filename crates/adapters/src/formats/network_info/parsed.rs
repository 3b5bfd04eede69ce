//! Parsed `network_info` files.

use tsql_formats::tenset::networks::{Network, NetworkContent};

use crate::ingest_log::SourceSegment;

/// A parsed file.
pub(crate) struct ParsedFile {
    /// Network from the file name.
    pub(super) network: Option<Network>,
    pub(super) content: NetworkContent,
    pub(super) text_id: i64,
    pub(super) bytes: Vec<u8>,
    pub(super) closed: SourceSegment,
}
