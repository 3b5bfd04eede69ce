//! Ingest of `network_info`. Each file is read as a whole.

use tsql_codecs::identity::text_id;
use tsql_error::Result;
use tsql_formats::tenset::networks::{self, NAME, Network, NetworkContent, NetworkInfo};
use tsql_formats::{DocumentFormat, Input};

use super::group::PendingFiles;
use super::parsed::ParsedFile;
use crate::formats::document;
use crate::formats::document::Document;
use crate::formats::format_reader::{
    Admission, AdmissionRequest, FormatDetector, FormatInput, FormatReader, Sink,
};
use crate::ingest_log::{DocumentAttributes, IngestLog};

/// Reader of `network_info` files.
#[derive(Clone, Copy)]
pub(in crate::formats) struct NetworkInfoReader;

impl FormatDetector for NetworkInfoReader {
    fn formats(&self) -> &'static [&'static dyn DocumentFormat] {
        &[&NetworkInfo]
    }

    fn owns_exported(&self, input: &Input) -> bool {
        input.exported_as(NAME).is_some()
    }

    fn admit(&self, _: &AdmissionRequest<'_>) -> Result<Admission> {
        Ok(Admission::Taken(None))
    }
}

impl FormatReader for NetworkInfoReader {
    type Work = Document;
    type Read = ParsedFile;
    type Group = PendingFiles;

    const TABLES: &'static [&'static str] = &["network_tasks", "relays"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn datasets(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, Document>,
    ) -> Result<Option<()>> {
        document::read(&NetworkInfo, given, ledger, hand)
    }

    fn parse(document: Document) -> Result<ParsedFile, String> {
        let content = networks::read(&document.bytes).map_err(|error| error.to_string())?;
        let network = Network::from_path(&document.reading.name);
        let mut closed = document.to_segment(NAME);
        let text_id = text_id(&document.bytes);
        closed.line_count = match &content {
            NetworkContent::Network(tasks) | NetworkContent::AllTasks(tasks) => tasks.len() as u64,
            NetworkContent::Relay(_) => 1,
        };
        closed.about = DocumentAttributes {
            network: network.as_ref().map(|network| network.name.clone()),
            text_id: Some(text_id),
            ..DocumentAttributes::default()
        };
        Ok(ParsedFile {
            network,
            content,
            text_id,
            bytes: document.bytes,
            closed,
        })
    }
}
