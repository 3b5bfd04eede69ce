//! Files, and files in archives, on their way to a parser.

use std::io::BufReader;

use tsql_codecs::identity::ContentHasher;
use tsql_formats::exported::ExportedFile;
use tsql_formats::tpugraphs::{self, Arrays, Document, NAME, Place};
use tsql_formats::{Format as _, Input, Kind, Looks, Opened, Passed};

use crate::error::{Error, Result};
use crate::formats::taking::{Hand, Piece, What};
use crate::ledger::{Ledger, Plan, Reading, Source};

/// A document that was parsed.
pub(crate) struct Read {
    pub(super) work: Work,
    pub(super) document: Document,
}

/// A file on its way to a parser.
pub(crate) struct Work {
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) bytes: u64,
    pub(super) content_hash: String,
    /// The arrays of the files that the store has under its name.
    pub(super) known_arrays: Vec<(String, String)>,
    pub(super) opened: Opened,
}

/// What a file beside npz files in an archive looks like.
pub(super) fn looks(input: &Input) -> Looks {
    let told = input.opened().map_err(Error::from);
    let told = told.and_then(|opened| opened.tell().map_err(Error::io(&input.file)));
    match told {
        Ok((Kind::Unknown(looks), _)) => looks,
        Ok((Kind::Blank(_), _)) => Looks::blank(),
        Ok(_) => Looks::new("a log beside npz files"),
        Err(error) => Looks::new(format!("a file that cannot be read ({error})")),
    }
}

/// Returns what a file is that was taken for one of TpuGraphs by its beginning, and is none.
pub(super) fn foreign(opened: &Opened) -> Option<Looks> {
    let stream = opened.stream(&Passed::default());
    if stream.is_ok_and(|(_, compression)| compression.is_some()) {
        let looks = Looks::new("a compressed npz file");
        return Some(looks.with_hint("decompress it: an npz file is compressed within"));
    }
    tpugraphs::foreign(BufReader::new(opened.bytes()))
}

/// Looks at files in order.
pub(super) struct Reader<'a, 'h> {
    platform: &'a str,
    ledger: &'a mut Ledger,
    hand: &'a mut Hand<'h, Work>,
}

impl<'a, 'h> Reader<'a, 'h> {
    pub(super) fn new(
        platform: &'a str,
        ledger: &'a mut Ledger,
        hand: &'a mut Hand<'h, Work>,
    ) -> Self {
        Self {
            platform,
            ledger,
            hand,
        }
    }

    /// Hands on the document of an input; `None` where nobody wants more.
    pub(super) fn read(&mut self, what: &What) -> Result<Option<()>> {
        let What::File(input, _) = what else {
            return Ok(Some(()));
        };
        let opened = input.opened()?;
        let was = input.was(NAME);
        let place = was.map_or_else(|| Place::of(&input.place()), recalled);
        self.document(&opened, &input.name, input.path.clone(), place)
    }

    /// Plans a document and hands it to the parsers, unless the store has it.
    fn document(
        &mut self,
        opened: &Opened,
        name: &str,
        path: String,
        place: Place,
    ) -> Result<Option<()>> {
        if (self.hand)(Piece::Taken(Arrays.described())).is_none() {
            return Ok(None);
        }
        let hashed = ContentHasher::of_stream(opened.bytes());
        let (bytes, content_hash) = hashed.map_err(Error::io(&path))?;
        if (self.hand)(Piece::Bytes(opened.untold(bytes))).is_none() {
            return Ok(None);
        }
        let alike = |source: &Source| {
            let other = Place::of(&source.name);
            source.collection == place.collection
                && source.split == place.split
                && other.stem == place.stem
        };
        let plan =
            self.ledger
                .plan_document(NAME, self.platform, name, bytes, &content_hash, alike);
        let reading = match plan {
            Plan::Unchanged => return Ok((self.hand)(Piece::Unchanged(1))),
            Plan::Alias(alias) => return Ok((self.hand)(Piece::Alias(alias, path))),
            Plan::Read(reading) => reading,
        };
        let given = reading.given.as_deref();
        let known_arrays = given.map(|name| self.ledger.arrays_of(&reading.platform, name));
        self.ledger.add(Source {
            collection: place.collection.clone(),
            split: place.split.clone(),
            ..Source::being_read(&reading, bytes, content_hash.clone())
        });
        let work = Work {
            known_arrays: known_arrays.unwrap_or_default(),
            reading,
            path: path.clone(),
            place,
            bytes,
            content_hash,
            opened: opened.clone(),
        };
        let source_id = Some(work.reading.source_id);
        Ok((self.hand)(Piece::Work(path, source_id, work)))
    }
}

/// Where a file of an export stood.
fn recalled(file: &ExportedFile) -> Place {
    Place {
        collection: file.collection.clone(),
        split: file.split.clone(),
        ..Place::of(&file.name)
    }
}
