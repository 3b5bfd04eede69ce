//! The way in: what an ingest asks of a format whose files are read as a whole.
//!
//! ```text
//! files ─▶ Room (whose are they? on which platform?) ─▶ read ─▶ parse ─▶ Group ─▶ rows
//!                                                 one thread   many      known ones are not added
//! ```
//!
//! Formats of logs need nothing here: [`Dialect`](tsql_formats::Dialect) says what becomes of a line.

use std::sync::Arc;

use arrow::array::RecordBatch;
use tsql_formats::{Compression, Documents, Input, Looks, Named, Opened};

use super::known::KnownSample;
use crate::error::Result;
use crate::ledger::{Alias, Closed, Ledger};
use crate::store::Store;

/// Something that one format is to read.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) what: What,
    /// The platform of its records; `None` where it has none.
    pub(crate) platform: Option<String>,
}

/// What a format reads from.
#[derive(Clone, Debug)]
pub(crate) enum What {
    File(Input, Option<Compression>),
    /// Files that are one thing: the name of their folder in the store, and they.
    Folder(String, Vec<Input>),
    /// A file of an archive of such folders that lies in none.
    Loose(Input),
}

/// What a format makes of an archive that is its.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) taken: Vec<What>,
    /// Files that it does not read.
    pub(crate) others: Vec<(Input, Looks)>,
}

impl Given {
    /// How it is named to people.
    pub(crate) fn shown(&self) -> &str {
        match &self.what {
            What::File(input, _) | What::Loose(input) => &input.path,
            What::Folder(_, files) => {
                let first = files.first().map_or("", |file| file.path.as_str());
                first.rsplit_once('/').map_or(first, |(folder, _)| folder)
            }
        }
    }
}

/// Whether, and on which platform, a file is taken.
pub(crate) enum Admission {
    Taken(Option<String>),
    /// It needs a platform, and none is known: with a way out.
    Nameless(&'static str),
    /// It only looked like one of the format.
    Skipped(Looks),
}

/// A format as far as it concerns files that nobody has read yet.
pub(crate) trait Admitting: Sync {
    /// What its files are told by.
    fn formats(&self) -> &'static [&'static dyn Documents];

    /// Files of an archive may be one thing with others of it, wherever they lie in it: all have to be there before
    /// any is read.
    fn needs_all(&self) -> bool {
        false
    }

    /// What it reads of the files of an archive that is its.
    fn contents(&self, members: Vec<Input>) -> Contents {
        let taken = members.into_iter().map(|input| What::File(input, None));
        Contents {
            taken: taken.collect(),
            others: Vec::new(),
        }
    }

    /// Takes out of what was found the files that belong together; the others are given back.
    fn folders(&self, found: Vec<Input>) -> (Vec<Given>, Vec<Input>) {
        (Vec::new(), found)
    }

    /// Was this one of its files before it was exported?
    fn recalls(&self, input: &Input) -> bool {
        let _ = input;
        false
    }

    /// On which platform is a file? `asked` is for all files, `opened` is missing where an export
    /// says what the file was, and of an archive.
    fn admit(
        &self,
        input: &Input,
        opened: Option<&Opened>,
        asked: Option<&str>,
    ) -> Result<Admission>;

    /// Its name among the rooms.
    fn name(&self) -> &'static str {
        let first = self.formats().first();
        first.map_or("", |format| format.described())
    }

    /// Is this one of its formats?
    fn takes(&self, format: &dyn Documents) -> bool {
        let mut own = self.formats().iter();
        own.any(|own| own.described() == format.described())
    }

    /// May it be given files, where somebody says what all of them are?
    fn is_meant(&self, wanted: Option<Named>) -> bool {
        match wanted {
            None => true,
            Some(Named::Document(format)) => self.takes(format),
            Some(Named::Log(_)) => false,
        }
    }
}

/// What the thread that reads finds, one after the other.
pub(crate) enum Piece<W> {
    /// Something, in these words, that is one of its own: whatever becomes of it is said later.
    Taken(&'static str),
    /// So many bytes were read.
    Bytes(u64),
    /// Something that the store does not have, to be parsed by another thread: what it is called,
    /// and its source.
    Work(String, Option<i64>, W),
    /// The store has so many files already.
    Unchanged(u64),
    /// The store has the bytes of this file under another name.
    Alias(Box<Alias>, String),
    /// A file that is not taken, and why.
    Failed(String, String),
}

/// Takes pieces; `None` where nobody wants more.
pub(crate) type Hand<'a, W> = dyn FnMut(Piece<W>) -> Option<()> + 'a;

/// The reader of a format.
pub(crate) trait Taking: Admitting + Send + Copy + 'static {
    /// What is parsed at once.
    type Work: Send + 'static;
    /// What was read of it.
    type Read: Send + 'static;
    /// Where it is gathered.
    type Group: Group<Read = Self::Read>;

    /// Its dataset.
    const DATASET: &'static str;
    /// The tables of its files' own rows, in the order in which they are committed.
    const TABLES: &'static [&'static str];
    /// How much may wait for each thread that parses, and how much that is parsed.
    const QUEUE: (usize, usize);
    /// A file that is not taken ends a strict run.
    const IS_STRICT: bool;

    /// Platforms and names that the files will have, where that is known.
    fn names<'a>(&self, given: &'a [Given]) -> Option<Vec<(&'a str, &'a str)>> {
        let _ = given;
        None
    }

    /// Hands on all pieces of an input; `None` where nobody wants more. What came before damage is
    /// handed on.
    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Self::Work>,
    ) -> Result<Option<()>>;

    /// Parses a piece; why it is refused as a whole.
    fn parse(work: Self::Work) -> std::result::Result<Self::Read, String>;
}

/// What was parsed and is not in the store yet.
pub(crate) trait Group: Sized {
    /// A piece.
    type Read;

    /// An empty one.
    async fn begin(store: &Store) -> Result<Self>;

    /// Takes a piece; what is to be told of it.
    fn take(&mut self, read: Self::Read) -> Told;

    /// There is enough for a commit, with so many files.
    fn is_full(&self, files: usize) -> bool;

    /// Commits all that the files' own rows refer to; gives these, and completes what the ledger will
    /// say of the files.
    async fn commit(&mut self, store: &Store, closed: &mut [Closed]) -> Result<Committed>;

    /// Forgets all pieces.
    fn clear(&mut self);
}

/// What is told of a piece.
#[derive(Default)]
pub(crate) struct Told {
    /// Its files; none where the store turned out to have it.
    pub(crate) closed: Vec<Closed>,
    pub(crate) bytes: u64,
    pub(crate) failed_records: u64,
    pub(crate) unmeasured_records: u64,
    pub(crate) samples: u64,
    pub(crate) known_samples: Vec<KnownSample>,
    /// Path and name in the store, where it could not keep its own.
    pub(crate) renamed: Option<(String, String)>,
    /// Lines that are refused: path, line, reason.
    pub(crate) rejects: Vec<(String, u64, String)>,
    /// What is odd about it: path, line (0 for all of it), reason.
    pub(crate) notes: Vec<(String, u64, String)>,
    /// What of a sound file is not understood: path, what.
    pub(crate) remarks: Vec<(String, String)>,
}

/// What a group has brought, and the rows that are to be committed with its files.
#[derive(Default)]
pub(crate) struct Committed {
    pub(crate) rows: Vec<Batch>,
    pub(crate) new_graphs: u64,
    pub(crate) new_configurations: u64,
}

/// Rows of a table.
pub(crate) struct Batch {
    pub(crate) table: &'static str,
    /// Dataset and platform, where the table is parted by them.
    pub(crate) partition: Option<Partition>,
    pub(crate) rows: RecordBatch,
}

/// Dataset and platform of records: what their files have in common.
pub(crate) type Partition = (&'static str, Arc<str>);

/// Runs something for each room.
pub(crate) trait Visitor {
    async fn visit<T: Taking>(&mut self, room: T) -> Result<()>;
}
