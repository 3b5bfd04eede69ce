//! Assigns each input file to a reader and a platform before anything is read.

use std::collections::{BTreeMap, BTreeSet};

use tsql_adapters::catch_panic;
use tsql_adapters::formats::DETECTORS;
use tsql_adapters::formats::format_reader::{AdmissionRequest, FormatInput};
use tsql_adapters::formats::platform;
use tsql_error::{Error, Result};
use tsql_formats::autotuners::FileNames;
use tsql_formats::{
    ByteCounter, Compression, DetectedFormat, Dialect, DocumentFormat, FileDescription, FileHandle,
    Input, NamedFormat,
};

use super::archive_members::ArchiveBatch;
use super::companion_files;
use super::logs::Job;
use super::{IngestOptions, Report, SkippedFile};

pub(crate) use tsql_adapters::formats::format_reader::InputFiles;
pub(crate) use tsql_adapters::formats::format_reader::{Admission, FormatDetector};

/// Maximum number of files that stay open from detection to reading. The others are reopened.
const MAX_OPEN_FILES: usize = 128;

/// Input files by reader.
#[derive(Default)]
pub(super) struct ClassifiedInputs {
    pub(super) logs: Vec<Job>,
    /// Inputs of each format, by its name.
    pub(super) rooms: BTreeMap<&'static str, Vec<FormatInput>>,
    /// Archives. They are walked after all files were classified.
    pub(super) archives: Vec<Input>,
    /// Files that are not read, with reasons.
    pub(super) report: Report,
    platforms: BTreeSet<String>,
    /// Explicitly given files without a platform.
    nameless: Vec<String>,
    /// Explicitly given files without a graph or a platform, with the reason.
    unnamed: Vec<(String, String)>,
    /// Requested format of all files.
    wanted: Option<NamedFormat>,
    /// Number of open files.
    held: usize,
}

/// Reader of a file.
enum Reader {
    Lines(Dialect, Option<Compression>),
    /// The format is known if the file content determined it, and unknown for an exported file.
    Room(
        &'static dyn FormatDetector,
        Option<Compression>,
        Option<&'static dyn DocumentFormat>,
    ),
}

impl ClassifiedInputs {
    /// Classifies files.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] for an explicitly given file without a platform. With `strict` also for an
    /// explicitly given file that no reader accepts. [`Error::Argument`] for an unknown format.
    pub(super) fn classify(found: Vec<Input>, options: &IngestOptions) -> Result<Self> {
        let mut intake = Self {
            wanted: options.requested_format()?,
            ..Self::default()
        };
        let wanted = intake.wanted;
        let names = companion_files::UniqueNames::from_inputs(&found);
        let mut files = found;
        for room in DETECTORS.iter().filter(|room| room.matches_request(wanted)) {
            let (folders, others) = room.split_folders(files);
            intake.rooms.entry(room.name()).or_default().extend(folders);
            files = others;
        }
        for mut input in files {
            match catch_panic(|| detect(&mut input, wanted)) {
                Ok(Ok(told)) => intake.add_detected(input, told, options)?,
                Ok(Err(error)) => intake.add_failure(&input, error_text(error)),
                Err(reason) => intake.add_failure(&input, reason),
            }
        }
        if let Some(location) = intake.nameless.first().cloned() {
            let more = match intake.nameless.len() - 1 {
                0 => String::new(),
                count => format!(", and that of {count} more files"),
            };
            let reason = format!("{NO_PLATFORM_KNOWN}{more}{PLATFORM_HINT}");
            return Err(Error::Source { location, reason });
        }
        if let Some((location, reason)) = intake.unnamed.first().cloned() {
            return Err(Error::Source { location, reason });
        }
        intake.report.platforms = std::mem::take(&mut intake.platforms);
        companion_files::assign_companions(&mut intake.logs, &names);
        Ok(intake)
    }

    /// Classifies the files of an archive.
    ///
    /// # Errors
    ///
    /// As [`ClassifiedInputs::classify`].
    pub(super) fn classify_batch(
        archive: &Input,
        portion: ArchiveBatch,
        options: &IngestOptions,
    ) -> Result<Self> {
        let mut intake = match portion.room {
            Some(room) => {
                let mut intake = Self {
                    wanted: options.requested_format()?,
                    ..Self::default()
                };
                let contents = room.archive_contents(portion.inputs);
                let admission = room.admit(&AdmissionRequest {
                    input: archive,
                    opened: None,
                    platform: options.platform.as_deref(),
                    format: None,
                    names: &FileNames::default(),
                })?;
                let what = (contents.taken, None);
                intake.add_admitted(archive, room, what, admission, options)?;
                for (input, looks) in contents.others {
                    intake.skip(&input, &looks, options)?;
                }
                intake.report.platforms = std::mem::take(&mut intake.platforms);
                intake
            }
            None => {
                let mut intake = Self::classify(portion.inputs, options)?;
                intake.skip_archives(options)?;
                intake
            }
        };
        intake.report.failed_files.extend(portion.failed);
        Ok(intake)
    }

    /// Returns whether there is something to read, or a file that failed.
    pub(super) fn has_inputs(&self) -> bool {
        let rooms = self.rooms.values().any(|given| !given.is_empty());
        rooms || !self.logs.is_empty() || !self.report.failed_files.is_empty()
    }

    /// Adds the inputs of another one.
    pub(super) fn add(&mut self, other: Self) {
        self.logs.extend(other.logs);
        for (room, given) in other.rooms {
            self.rooms.entry(room).or_default().extend(given);
        }
        self.report.add(other.report);
    }

    /// Adds a file according to its detected format.
    fn add_detected(
        &mut self,
        input: Input,
        told: Detection,
        options: &IngestOptions,
    ) -> Result<()> {
        let (kind, compression) = match told {
            Detection::Recalled(reader) => return self.assign(input, reader, options),
            Detection::Is(kind, compression) => (kind, compression),
        };
        match kind {
            DetectedFormat::Log(dialect) => {
                self.assign(input, Reader::Lines(dialect, compression), options)
            }
            DetectedFormat::Blank(dialect) if dialect.matches_file_name(&input.name) => {
                self.assign(input, Reader::Lines(dialect, compression), options)
            }
            DetectedFormat::Blank(_) => self.skip(&input, &FileDescription::empty(), options),
            DetectedFormat::Document(format) => {
                let format = options.naming.format_of_detected(format, &input.path);
                match DETECTORS.iter().find(|room| room.handles(format)) {
                    Some(room) => self.assign(
                        input,
                        Reader::Room(*room, compression, Some(format)),
                        options,
                    ),
                    None => self.skip(&input, &FileDescription::new(format.description()), options),
                }
            }
            DetectedFormat::Archive => {
                let archive = self.limit_open(input);
                self.archives.push(archive);
                Ok(())
            }
            DetectedFormat::Unknown(looks) => match options.naming.format_of_table(&input.path) {
                Some(format) => {
                    let kind = DetectedFormat::Document(format);
                    self.add_detected(input, Detection::Is(kind, compression), options)
                }
                None => self.skip(&input, &looks, options),
            },
        }
    }

    fn assign(&mut self, input: Input, reader: Reader, options: &IngestOptions) -> Result<()> {
        let asked = options.platform.as_deref();
        match reader {
            Reader::Lines(dialect, compression) => {
                match platform::resolve(asked, dialect.dataset(), None, &input) {
                    Err(error) => self.add_failure(&input, error_text(error)),
                    Ok(Some(platform)) => {
                        self.platforms.insert(platform.clone());
                        self.report.count_kind(dialect.description());
                        let input = self.limit_open(input);
                        self.logs.push(Job {
                            input,
                            platform,
                            dialect,
                            compression,
                            beside: None,
                        });
                    }
                    Ok(None) => self.reject_without_platform(&input, PLATFORM_HINT),
                }
            }
            Reader::Room(room, compression, format) => {
                let names = options.naming.names_of(&input.path);
                let request = AdmissionRequest {
                    input: &input,
                    opened: input.opened.as_ref().filter(|_| format.is_some()),
                    platform: asked,
                    format,
                    names: &names,
                };
                match room.admit(&request) {
                    Ok(admission) => {
                        let what = InputFiles::File(self.limit_open(input.clone()), compression);
                        let what = (vec![what], format);
                        self.add_admitted(&input, room, what, admission, options)?;
                    }
                    Err(error) => self.add_failure(&input, error_text(error)),
                }
            }
        }
        Ok(())
    }

    /// Closes a file that can be reopened, if too many are open.
    fn limit_open(&mut self, mut input: Input) -> Input {
        if input.opened.as_ref().is_some_and(FileHandle::has_path) {
            if self.held == MAX_OPEN_FILES {
                input.opened = None;
            } else {
                self.held += 1;
            }
        }
        input
    }

    /// Adds the files that a format has admitted.
    fn add_admitted(
        &mut self,
        input: &Input,
        room: &dyn FormatDetector,
        (what, format): (Vec<InputFiles>, Option<&'static dyn DocumentFormat>),
        admission: Admission,
        options: &IngestOptions,
    ) -> Result<()> {
        let admission = match admission {
            Admission::Skipped(_) if self.wanted.is_some() => {
                Admission::Named(None, Box::default())
            }
            Admission::Taken(platform) => Admission::Named(platform, Box::default()),
            told => told,
        };
        match admission {
            Admission::Taken(_) => {}
            Admission::Named(platform, names) => {
                self.platforms.extend(platform.clone());
                let given = |what| FormatInput {
                    what,
                    platform: platform.clone(),
                    format,
                    names: (*names).clone(),
                };
                let rooms = self.rooms.entry(room.name()).or_default();
                rooms.extend(what.into_iter().map(given));
            }
            Admission::Nameless(hint) => self.reject_without_platform(input, hint),
            Admission::Unnamed(reason) if input.explicit => {
                self.unnamed.push((input.path.clone(), reason));
            }
            Admission::Unnamed(reason) => self.add_failure(input, reason),
            Admission::Skipped(looks) => self.skip(input, &looks, options)?,
        }
        Ok(())
    }

    fn reject_without_platform(&mut self, input: &Input, hint: &str) {
        if input.explicit {
            self.nameless.push(input.path.clone());
        } else {
            self.add_failure(input, format!("{NO_PLATFORM_KNOWN}{hint}"));
        }
    }

    fn add_failure(&mut self, input: &Input, reason: String) {
        self.report.failed_files.push((input.path.clone(), reason));
    }

    /// Skips archives within an archive, and reports them.
    pub(super) fn skip_archives(&mut self, options: &IngestOptions) -> Result<()> {
        let looks = FileDescription::new("an archive within an archive");
        let archives = std::mem::take(&mut self.archives);
        archives
            .iter()
            .try_for_each(|archive| self.skip(archive, &looks, options))
    }

    fn skip(
        &mut self,
        input: &Input,
        looks: &FileDescription,
        options: &IngestOptions,
    ) -> Result<()> {
        if options.strict && input.explicit {
            return Err(Error::Source {
                location: input.path.clone(),
                reason: format!("{looks}, which is not read"),
            });
        }
        let file = SkippedFile {
            is_explicit: input.explicit,
            ..SkippedFile::new(input.path.clone(), looks)
        };
        self.report.skipped_files.push(file);
        Ok(())
    }
}

/// How the format of a file was determined.
enum Detection {
    /// From the file list of an export.
    Recalled(Reader),
    /// From its content.
    Is(DetectedFormat, Option<Compression>),
}

/// Opens a file, keeps it open, and detects its format.
fn detect(input: &mut Input, wanted: Option<NamedFormat>) -> Result<Detection> {
    let opened = input.open_file()?;
    let told = match exported_reader(input, &opened, wanted)? {
        Some(reader) => Detection::Recalled(reader),
        None => {
            let (kind, compression) = opened.detect_format().map_err(Error::io(&input.file))?;
            Detection::Is(kind.with_format(wanted), compression)
        }
    };
    input.opened = Some(opened);
    Ok(told)
}

/// Reader of an exported file. The format before the export takes precedence over the content, unless the
/// user requests a format.
fn exported_reader(
    input: &Input,
    opened: &FileHandle,
    wanted: Option<NamedFormat>,
) -> Result<Option<Reader>> {
    if wanted.is_some() {
        return Ok(None);
    }
    let room = DETECTORS.iter().find(|room| room.owns_exported(input));
    let mut dialects = Dialect::ALL.iter().copied();
    let dialect = dialects.find(|dialect| input.exported_as(dialect.dataset()).is_some());
    if room.is_none() && dialect.is_none() {
        return Ok(None);
    }
    let stream = opened.stream(&ByteCounter::default());
    let (_, compression) = stream.map_err(Error::io(&input.file))?;
    let room = room.map(|room| Reader::Room(*room, compression, None));
    Ok(room.or(dialect.map(|dialect| Reader::Lines(dialect, compression))))
}

const NO_PLATFORM_KNOWN: &str = "its platform is unknown";

const PLATFORM_HINT: &str =
    "\nhint: set it with --platform NAME, or ingest a folder with the name of the platform";

/// Reason why a file could not be opened, without its path.
fn error_text(error: Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        Error::Source { reason, .. } => reason,
        other => other.to_string(),
    }
}
