//! The way in: each file is read as a whole.

use tsql_codecs::identity::text_id;
use tsql_formats::tenset::networks::{self, Content, NAME, Network, NetworkInfo};
use tsql_formats::{Documents, Input, Opened};

use super::group::Gathered;
use super::parsed::Read;
use crate::error::Result;
use crate::formats::document::{self, Document};
use crate::formats::taking::{Admission, Admitting, Given, Hand, Taking};
use crate::ledger::{About, Ledger};

/// The room of its files.
#[derive(Clone, Copy)]
pub(in crate::formats) struct Files;

impl Admitting for Files {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&NetworkInfo]
    }

    fn recalls(&self, input: &Input) -> bool {
        input.was(NAME).is_some()
    }

    fn admit(&self, _: &Input, _: Option<&Opened>, _: Option<&str>) -> Result<Admission> {
        Ok(Admission::Taken(None))
    }
}

impl Taking for Files {
    type Work = Document;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = NAME;
    const TABLES: &'static [&'static str] = &["network_tasks", "relays"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Document>,
    ) -> Result<Option<()>> {
        document::read(&NetworkInfo, given, ledger, hand)
    }

    fn parse(document: Document) -> Result<Read, String> {
        let content = networks::read(&document.bytes).map_err(|error| error.to_string())?;
        let network = Network::of(&document.reading.name);
        let mut closed = document.closed(NAME);
        let text_id = text_id(&document.bytes);
        closed.line_count = match &content {
            Content::Network(tasks) | Content::AllTasks(tasks) => tasks.len() as u64,
            Content::Relay(_) => 1,
        };
        closed.about = About {
            network: network.as_ref().map(|network| network.name.clone()),
            text_id: Some(text_id),
            ..About::default()
        };
        Ok(Read {
            network,
            content,
            text_id,
            bytes: document.bytes,
            closed,
        })
    }
}
