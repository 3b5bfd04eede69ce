//! Environment of the records of a file: device, version and header, and where graph and platform came from.

use tsql_formats::Format as _;
use tsql_formats::autotuners::TunerFile;
use tsql_formats::autotuners::readers::{Coverage, Document, End, Fields, Origin, Value};
use tsql_formats::rows::{Environment, JsonWriter};

/// Maximum size of a value of the header as JSON. Larger ones, such as lists of allowed values, are in `spaces` and in
/// the stored file.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// Facts that distinguish the environments of one file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EnvironmentKey {
    pub(super) platform: String,
    /// Origin of the platform. `None` if the record has that of its file.
    pub(super) platform_origin: Option<Origin>,
    pub(super) graph_origin: Origin,
    /// Facts of the run, such as its commit.
    pub(super) run: Fields,
}

fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::File => "file",
        Origin::Path => "path",
        Origin::Option => "option",
    }
}

impl EnvironmentKey {
    /// Builds the row of `environments`.
    pub(super) fn to_environment(&self, file: &TunerFile, document: &Document) -> Environment {
        let device = document.device.as_ref();
        let stated = device.filter(|device| device.origin == Origin::File);
        let stated = stated.map(|device| device.name.as_str());
        let own = self
            .platform_origin
            .is_none_or(|origin| origin == Origin::File);
        let stated = stated.or_else(|| own.then_some(self.platform.as_str()));
        let devices = stated.map(|name| Value::List(vec![Value::text(name)]));
        let host = (!document.machine.is_empty()).then(|| Value::Object(document.machine.clone()));
        let facts = [("devices", devices), ("host", host)];
        let facts = facts.into_iter();
        let facts: Vec<_> = facts
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        let machine = (!facts.is_empty()).then(|| Value::Object(facts).to_json());
        Environment {
            target: stated.unwrap_or(&self.platform).to_owned(),
            log_version: document.version.clone().unwrap_or_default(),
            machine,
            settings: Some(self.settings(file, document)),
            ..Environment::for_writer(JsonWriter::Python)
        }
    }

    fn settings(&self, file: &TunerFile, document: &Document) -> String {
        let coverage = match document.coverage {
            Coverage::AllTrials => "all trials",
            Coverage::Winners => "winners",
            Coverage::BestFew => "best few",
        };
        let platform = self.platform_origin.map_or("other records", word);
        let mut fields = vec![
            ("format", Value::text(file.name())),
            ("coverage", Value::text(coverage)),
            ("objective", Value::text(&document.objective)),
            ("graph_from", Value::text(word(self.graph_origin))),
            ("platform_from", Value::text(platform)),
        ];
        let end = match document.end {
            End::Open => Some("open"),
            End::Truncated => Some("truncated"),
            End::Closed | End::Unread => None,
        };
        fields.extend(end.map(|end| ("end", Value::text(end))));
        let edited = document.is_edited.then_some(Value::Bool(true));
        fields.extend(edited.map(|edited| ("edited", edited)));
        let header = document.settings.iter();
        let header: Vec<_> = header
            .filter(|(_, value)| value.to_json().len() <= MAX_VALUE_BYTES)
            .cloned()
            .collect();
        if !header.is_empty() {
            fields.push(("header", Value::Object(header)));
        }
        let fields = fields.into_iter();
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        let fields = fields.chain(self.run.iter().cloned());
        Value::Object(fields.collect()).to_json()
    }
}
