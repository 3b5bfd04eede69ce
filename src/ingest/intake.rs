//! What was found, told apart before anything is read: which format takes a file, on which
//! platform, and what none takes.

use std::collections::{BTreeMap, BTreeSet};

use tsql_formats::{Compression, Dialect, Input, Kind, Looks, Named, Opened, Passed};

use super::beside;
use super::lines::Job;
use super::members::Portion;
use super::workers::caught;
use super::{IngestOptions, Report, SkippedFile};
use crate::error::{Error, Result};
use crate::formats::taking::{Admission, Admitting, Given, What};
use crate::formats::{TAKING, platform};

/// Files that stay open from being told to being read; more are opened again.
const HELD: usize = 128;

/// Files by their readers.
#[derive(Default)]
pub(super) struct Intake {
    pub(super) logs: Vec<Job>,
    /// What each room is given, by its name.
    pub(super) rooms: BTreeMap<&'static str, Vec<Given>>,
    /// Archives, which are walked after all files were told.
    pub(super) archives: Vec<Input>,
    /// What is not read, and why.
    pub(super) report: Report,
    platforms: BTreeSet<String>,
    /// Named files without a platform.
    nameless: Vec<String>,
    /// What all files are said to be.
    wanted: Option<Named>,
    /// Files that are held open.
    held: usize,
}

/// Who reads a file.
enum Reader {
    Lines(Dialect, Option<Compression>),
    /// Whether the file itself told so, or an export.
    Room(&'static dyn Admitting, Option<Compression>, bool),
}

impl Intake {
    /// Tells files apart.
    ///
    /// # Errors
    /// [`Error::Source`] for a named file without a platform and, with `strict`, for a named file that no reader
    /// takes; [`Error::Argument`] for a format that nobody knows.
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
        for mut input in files {
            match caught(|| tell(&mut input, wanted)) {
                Ok(Ok(told)) => intake.take(input, told, options)?,
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

    /// Takes the files of an archive as what they are told to be.
    ///
    /// # Errors
    /// As [`Intake::of`].
    pub(super) fn of_portion(
        archive: &Input,
        portion: Portion,
        options: &IngestOptions,
    ) -> Result<Self> {
        let mut intake = match portion.room {
            Some(room) => {
                let mut intake = Self {
                    wanted: options.wanted()?,
                    ..Self::default()
                };
                let contents = room.contents(portion.inputs);
                let admission = room.admit(archive, None, options.platform.as_deref())?;
                intake.admit(archive, room, contents.taken, admission, options)?;
                for (input, looks) in contents.others {
                    intake.skip(&input, &looks, options)?;
                }
                intake.report.platforms = std::mem::take(&mut intake.platforms);
                intake
            }
            None => {
                let mut intake = Self::of(portion.inputs, options)?;
                intake.skip_archives(options)?;
                intake
            }
        };
        intake.report.failed_files.extend(portion.failed);
        Ok(intake)
    }

    /// Something is to be read, or should have been.
    pub(super) fn is_any(&self) -> bool {
        let rooms = self.rooms.values().any(|given| !given.is_empty());
        rooms || !self.logs.is_empty() || !self.report.failed_files.is_empty()
    }

    /// Takes what another one has.
    pub(super) fn add(&mut self, other: Self) {
        self.logs.extend(other.logs);
        for (room, given) in other.rooms {
            self.rooms.entry(room).or_default().extend(given);
        }
        self.report.add(other.report);
    }

    /// Takes a file as what it was told to be.
    fn take(&mut self, input: Input, told: Told, options: &IngestOptions) -> Result<()> {
        let (kind, compression) = match told {
            Told::Recalled(reader) => return self.give(input, reader, options),
            Told::Is(kind, compression) => (kind, compression),
        };
        match kind {
            Kind::Log(dialect) => self.give(input, Reader::Lines(dialect, compression), options),
            Kind::Blank(dialect) if dialect.is_named_like(&input.name) => {
                self.give(input, Reader::Lines(dialect, compression), options)
            }
            Kind::Blank(_) => self.skip(&input, &Looks::blank(), options),
            Kind::Document(format) => match TAKING.iter().find(|room| room.takes(format)) {
                Some(room) => self.give(input, Reader::Room(*room, compression, true), options),
                None => self.skip(&input, &Looks::new(format.described()), options),
            },
            Kind::Archive => {
                let archive = self.held(input);
                self.archives.push(archive);
                Ok(())
            }
            Kind::Unknown(looks) => self.skip(&input, &looks, options),
        }
    }

    fn give(&mut self, input: Input, reader: Reader, options: &IngestOptions) -> Result<()> {
        let asked = options.platform.as_deref();
        match reader {
            Reader::Lines(dialect, compression) => {
                match platform::of(asked, dialect.dataset(), None, &input) {
                    Err(error) => self.fail(&input, reason(error)),
                    Ok(Some(platform)) => {
                        self.platforms.insert(platform.clone());
                        self.report.took(dialect.described());
                        let input = self.held(input);
                        self.logs.push(Job {
                            input,
                            platform,
                            dialect,
                            compression,
                            beside: None,
                        });
                    }
                    Ok(None) => self.nameless(&input, HINT),
                }
            }
            Reader::Room(room, compression, is_told) => {
                let opened = input.opened.as_ref().filter(|_| is_told);
                match room.admit(&input, opened, asked) {
                    Ok(admission) => {
                        let what = What::File(self.held(input.clone()), compression);
                        self.admit(&input, room, vec![what], admission, options)?;
                    }
                    Err(error) => self.fail(&input, reason(error)),
                }
            }
        }
        Ok(())
    }

    /// Lets go of a file that can be opened again, where too many are held open.
    fn held(&mut self, mut input: Input) -> Input {
        if input.opened.as_ref().is_some_and(Opened::has_path) {
            if self.held == HELD {
                input.opened = None;
            } else {
                self.held += 1;
            }
        }
        input
    }

    /// Gives a room what it has admitted.
    fn admit(
        &mut self,
        input: &Input,
        room: &dyn Admitting,
        what: Vec<What>,
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
                let given = |what| Given {
                    what,
                    platform: platform.clone(),
                };
                let rooms = self.rooms.entry(room.name()).or_default();
                rooms.extend(what.into_iter().map(given));
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

/// What was told of a file.
enum Told {
    /// By an export.
    Recalled(Reader),
    /// By itself.
    Is(Kind, Option<Compression>),
}

/// Opens a file, which it is from then on, and tells what it is.
fn tell(input: &mut Input, wanted: Option<Named>) -> Result<Told> {
    let opened = input.opened()?;
    let told = match recalled(input, &opened, wanted)? {
        Some(reader) => Told::Recalled(reader),
        None => {
            let (kind, compression) = opened.tell().map_err(Error::io(&input.file))?;
            Told::Is(kind.taken_as(wanted), compression)
        }
    };
    input.opened = Some(opened);
    Ok(told)
}

/// Who reads a file of an export: what it was in the store that it came from counts, whatever it looks like,
/// unless somebody says what it is.
fn recalled(input: &Input, opened: &Opened, wanted: Option<Named>) -> Result<Option<Reader>> {
    if wanted.is_some() {
        return Ok(None);
    }
    let room = TAKING.iter().find(|room| room.recalls(input));
    let mut dialects = Dialect::ALL.into_iter();
    let dialect = dialects.find(|dialect| input.was(dialect.dataset()).is_some());
    if room.is_none() && dialect.is_none() {
        return Ok(None);
    }
    let stream = opened.stream(&Passed::default());
    let (_, compression) = stream.map_err(Error::io(&input.file))?;
    let room = room.map(|room| Reader::Room(*room, compression, false));
    Ok(room.or(dialect.map(|dialect| Reader::Lines(dialect, compression))))
}

const NAMELESS: &str = "no platform is known of it";

const HINT: &str =
    "\nhint: give one with --platform NAME, or ingest the folder that is named like it";

/// Why a file could not be opened, without its path.
fn reason(error: Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        Error::Source { reason, .. } => reason,
        other => other.to_string(),
    }
}
