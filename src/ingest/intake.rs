//! What was found, told apart before anything is read: which format takes a file, on which
//! platform, and what none takes.

use std::collections::{BTreeMap, BTreeSet};

use tsql_formats::{Compression, Dialect, Input, Kind, Looks, Named, Opened};

use super::beside;
use super::inside;
use super::lines::Job;
use super::workers::caught;
use super::{IngestOptions, Report, SkippedFile};
use crate::error::{Error, Result};
use crate::formats::taking::{Admission, Admitting, Given, What};
use crate::formats::{TAKING, platform};

/// Files by their readers.
#[derive(Default)]
pub(super) struct Intake {
    pub(super) logs: Vec<Job>,
    /// What each room is given, by its name.
    pub(super) rooms: BTreeMap<&'static str, Vec<Given>>,
    /// Archives that may hold logs.
    pub(super) archives: Vec<Input>,
    /// What is not read, and why.
    pub(super) report: Report,
    platforms: BTreeSet<String>,
    /// Named files without a platform.
    nameless: Vec<String>,
    /// What all files are said to be.
    wanted: Option<Named>,
}

/// Who reads a file.
enum Reader {
    Lines(Dialect, Option<Compression>),
    /// With the file as it was opened, unless an export says what it was.
    Room(&'static dyn Admitting, Option<Compression>, Option<Opened>),
}

impl Intake {
    /// Tells files apart.
    ///
    /// # Errors
    /// [`Error::Source`] for a named file without a platform, for a platform's name that no store can
    /// keep and, with `strict`, for a named file that no reader takes; [`Error::Argument`] for a format that
    /// nobody knows.
    pub(super) fn of(found: Vec<Input>, options: &IngestOptions) -> Result<Self> {
        let mut intake = Self {
            wanted: options.wanted()?,
            ..Self::default()
        };
        let wanted = intake.wanted;
        let names = beside::Names::of(&found);
        let mut files = found;
        for room in TAKING.iter().filter(|room| room.is_meant(wanted)) {
            let (folders, others) = room.folders(files);
            intake.rooms.entry(room.name()).or_default().extend(folders);
            files = others;
        }
        for input in files {
            match caught(|| recalled(&input, wanted)) {
                Ok(Ok(Some(reader))) => intake.give(input, reader, options)?,
                Ok(Ok(None)) => match caught(|| Opened::of(&input.file)) {
                    Ok(Ok(opened)) => intake.take(input, opened.taken_as(wanted), options)?,
                    Ok(Err(error)) => intake.fail(&input, reason(error.into())),
                    Err(reason) => intake.fail(&input, reason),
                },
                Ok(Err(error)) => intake.fail(&input, reason(error)),
                Err(reason) => intake.fail(&input, reason),
            }
        }
        if let Some(location) = intake.nameless.first().cloned() {
            let more = match intake.nameless.len() - 1 {
                0 => String::new(),
                count => format!(", nor of {count} more"),
            };
            let reason = format!("{NAMELESS}{more}{HINT}");
            return Err(Error::Source { location, reason });
        }
        intake.report.platforms = std::mem::take(&mut intake.platforms);
        beside::find(&mut intake.logs, &names);
        Ok(intake)
    }

    /// Takes a file as what it was told to be.
    fn take(&mut self, input: Input, mut opened: Opened, options: &IngestOptions) -> Result<()> {
        let compression = opened.compression;
        match std::mem::replace(&mut opened.kind, Kind::Archive) {
            Kind::Log(dialect) => self.give(input, Reader::Lines(dialect, compression), options),
            Kind::Blank(dialect) if dialect.is_named_like(&input.name) => {
                self.give(input, Reader::Lines(dialect, compression), options)
            }
            Kind::Blank(_) => self.skip(&input, &Looks::blank(), options),
            Kind::Document(format) => match TAKING.iter().find(|room| room.takes(format)) {
                Some(room) => {
                    let reader = Reader::Room(*room, compression, Some(opened));
                    self.give(input, reader, options)
                }
                None => self.skip(&input, &Looks::new(format.described()), options),
            },
            Kind::Archive => {
                let inside = inside::inside(&input, opened.into_reader());
                match inside.room.filter(|room| room.is_meant(self.wanted)) {
                    Some(room) => {
                        let admission = room.admit(&input, None, options.platform.as_deref())?;
                        let what = What::Archive(input.clone(), inside.names);
                        self.admit(&input, room, what, admission, options)?;
                    }
                    None => self.archives.push(input),
                }
                Ok(())
            }
            Kind::Unknown(looks) => self.skip(&input, &looks, options),
        }
    }

    fn give(&mut self, input: Input, reader: Reader, options: &IngestOptions) -> Result<()> {
        let asked = options.platform.as_deref();
        match reader {
            Reader::Lines(dialect, compression) => {
                match platform::of(asked, dialect.dataset(), None, &input)? {
                    Some(platform) => {
                        self.platforms.insert(platform.clone());
                        self.report.took(dialect.described());
                        self.logs.push(Job {
                            input,
                            platform,
                            dialect,
                            compression,
                            beside: None,
                        });
                    }
                    None => self.nameless(&input, HINT),
                }
            }
            Reader::Room(room, compression, opened) => match room.admit(&input, opened, asked) {
                Ok(admission) => {
                    let what = What::File(input.clone(), compression);
                    self.admit(&input, room, what, admission, options)?;
                }
                Err(error) => self.fail(&input, reason(error)),
            },
        }
        Ok(())
    }

    /// Gives a room what it has admitted.
    fn admit(
        &mut self,
        input: &Input,
        room: &dyn Admitting,
        what: What,
        admission: Admission,
        options: &IngestOptions,
    ) -> Result<()> {
        let admission = match admission {
            Admission::Skipped(_) if self.wanted.is_some() => Admission::Taken(None),
            told => told,
        };
        match admission {
            Admission::Taken(platform) => {
                self.platforms.extend(platform.clone());
                let given = self.rooms.entry(room.name()).or_default();
                given.push(Given { what, platform });
            }
            Admission::Nameless(hint) => self.nameless(input, hint),
            Admission::Skipped(looks) => self.skip(input, &looks, options)?,
        }
        Ok(())
    }

    fn nameless(&mut self, input: &Input, hint: &str) {
        if input.explicit {
            self.nameless.push(input.path.clone());
        } else {
            self.fail(input, format!("{NAMELESS}{hint}"));
        }
    }

    fn fail(&mut self, input: &Input, reason: String) {
        self.report.failed_files.push((input.path.clone(), reason));
    }

    /// Takes no notice of archives within an archive, but tells of them.
    pub(super) fn skip_archives(&mut self, options: &IngestOptions) -> Result<()> {
        let looks = Looks::new("an archive within an archive");
        let archives = std::mem::take(&mut self.archives);
        archives
            .iter()
            .try_for_each(|archive| self.skip(archive, &looks, options))
    }

    fn skip(&mut self, input: &Input, looks: &Looks, options: &IngestOptions) -> Result<()> {
        if options.strict && input.explicit {
            return Err(Error::Source {
                location: input.path.clone(),
                reason: format!("{looks}, which is not read"),
            });
        }
        let file = SkippedFile {
            named: input.explicit,
            ..SkippedFile::found(input.path.clone(), looks)
        };
        self.report.skipped_files.push(file);
        Ok(())
    }
}

/// Who reads a file of an export: what it was in the store that it came from counts, whatever it looks like,
/// unless somebody says what it is.
fn recalled(input: &Input, wanted: Option<Named>) -> Result<Option<Reader>> {
    if wanted.is_some() {
        return Ok(None);
    }
    let room = TAKING.iter().find(|room| room.recalls(input));
    let mut dialects = Dialect::ALL.into_iter();
    let dialect = dialects.find(|dialect| input.was(dialect.dataset()).is_some());
    if room.is_none() && dialect.is_none() {
        return Ok(None);
    }
    let (_, compression) = tsql_formats::open(&input.file)?;
    let room = room.map(|room| Reader::Room(*room, compression, None));
    Ok(room.or(dialect.map(|dialect| Reader::Lines(dialect, compression))))
}

const NAMELESS: &str = "no platform is known of it";

const HINT: &str =
    "\nhint: give one with --platform NAME, or ingest the folder that is named like it";

/// Why a file could not be opened, without its path.
fn reason(error: Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
