//! Reads files and archive members.

use std::io::BufReader;

use tsql_codecs::identity::ContentHasher;
use tsql_error::{Error, Result};
use tsql_formats::export_manifest::ExportedFile;
use tsql_formats::tpugraphs::{self, Arrays, CollectionPath, NAME, NpzDocument};
use tsql_formats::{ByteCounter, DetectedFormat, FileDescription, FileHandle, Format as _, Input};

use crate::formats::format_reader::{InputFiles, ReadEvent, Sink};
use crate::ingest_log::{FilePlan, IngestLog, ReadPlan, Source};

/// A parsed document.
pub(crate) struct ParsedDocument {
    pub(super) work: DocumentWork,
    pub(super) document: NpzDocument,
}

/// A file that is not yet parsed.
pub(crate) struct DocumentWork {
    pub(super) reading: ReadPlan,
    pub(super) path: String,
    pub(super) place: CollectionPath,
    pub(super) bytes: u64,
    pub(super) content_hash: String,
    /// Arrays of the files that the store has under its name.
    pub(super) known_arrays: Vec<(String, String)>,
    pub(super) opened: FileHandle,
}

/// Describes a file in an archive that is not an npz file.
pub(super) fn describe_other_file(input: &Input) -> FileDescription {
    let told = input.open_file().map_err(Error::from);
    let told = told.and_then(|opened| opened.detect_format().map_err(Error::io(&input.file)));
    match told {
        Ok((DetectedFormat::Unknown(looks), _)) => looks,
        Ok((DetectedFormat::Blank(_), _)) => FileDescription::empty(),
        Ok(_) => FileDescription::new("a log next to npz files"),
        Err(error) => FileDescription::new(format!("a file that cannot be read ({error})")),
    }
}

/// Describes a file that looks like one of TpuGraphs by its first bytes, but is not.
pub(super) fn detect_foreign(opened: &FileHandle) -> Option<FileDescription> {
    let stream = opened.stream(&ByteCounter::default());
    if stream.is_ok_and(|(_, compression)| compression.is_some()) {
        let looks = FileDescription::new("a compressed npz file");
        return Some(looks.with_hint("decompress it: npz files have their own compression"));
    }
    tpugraphs::describe_foreign_npz(BufReader::new(opened.reader()))
}

/// Plans files in order.
pub(super) struct Reader<'a, 'h> {
    platform: &'a str,
    ledger: &'a mut IngestLog,
    hand: &'a mut Sink<'h, DocumentWork>,
}

impl<'a, 'h> Reader<'a, 'h> {
    pub(super) fn new(
        platform: &'a str,
        ledger: &'a mut IngestLog,
        hand: &'a mut Sink<'h, DocumentWork>,
    ) -> Self {
        Self {
            platform,
            ledger,
            hand,
        }
    }

    /// Passes the document of an input on. Returns `None` if the receiver stopped.
    pub(super) fn read(&mut self, what: &InputFiles) -> Result<Option<()>> {
        let InputFiles::File(input, _) = what else {
            return Ok(Some(()));
        };
        let opened = input.open_file()?;
        let was = input.exported_as(NAME);
        let place = was.map_or_else(|| CollectionPath::parse(&input.location()), exported_place);
        self.read_document(&opened, &input.name, input.path.clone(), place)
    }

    /// Plans a document and passes it to the parsers, unless the store has it.
    fn read_document(
        &mut self,
        opened: &FileHandle,
        name: &str,
        path: String,
        place: CollectionPath,
    ) -> Result<Option<()>> {
        if (self.hand)(ReadEvent::Taken(Arrays.description())).is_none() {
            return Ok(None);
        }
        let hashed = ContentHasher::hash_stream(opened.reader());
        let (bytes, content_hash) = hashed.map_err(Error::io(&path))?;
        if (self.hand)(ReadEvent::Bytes(opened.uncounted_bytes(bytes))).is_none() {
            return Ok(None);
        }
        let alike = |source: &Source| {
            let other = CollectionPath::parse(&source.name);
            source.collection == place.collection
                && source.split == place.split
                && other.stem == place.stem
        };
        let plan =
            self.ledger
                .plan_document(NAME, self.platform, name, bytes, &content_hash, alike);
        let reading = match plan {
            FilePlan::Unchanged => return Ok((self.hand)(ReadEvent::Unchanged(1))),
            FilePlan::Alias(alias) => return Ok((self.hand)(ReadEvent::Alias(alias, path))),
            FilePlan::Read(reading) => reading,
        };
        let given = reading.given.as_deref();
        let known_arrays = given.map(|name| self.ledger.arrays_of(&reading.platform, name));
        self.ledger.add(Source {
            collection: place.collection.clone(),
            split: place.split.clone(),
            ..Source::new_uncommitted(&reading, bytes, content_hash.clone())
        });
        let work = DocumentWork {
            known_arrays: known_arrays.unwrap_or_default(),
            reading,
            path: path.clone(),
            place,
            bytes,
            content_hash,
            opened: opened.clone(),
        };
        let source_id = Some(work.reading.source_id);
        Ok((self.hand)(ReadEvent::Work(path, source_id, work)))
    }
}

/// Original collection and split of an exported file.
fn exported_place(file: &ExportedFile) -> CollectionPath {
    CollectionPath {
        collection: file.collection.clone(),
        split: file.split.clone(),
        ..CollectionPath::parse(&file.name)
    }
}
