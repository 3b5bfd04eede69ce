//! What was found, told apart before anything is read: which reader takes a file, on which
//! platform, and what none takes.

use std::collections::BTreeSet;

use tsql_formats::{Dialect, Format, Input, Looks, graphnet, tpugraphs};

use super::pipeline::Job;
use super::samples::find::{self, Inside, Place};
use super::workers::caught;
use super::{IngestOptions, Report, SkippedFile, platform, runs};
use crate::error::{Error, Result};

/// Files by their readers.
#[derive(Default)]
pub(super) struct Intake {
    pub(super) logs: Vec<Job>,
    pub(super) documents: Vec<(Input, Format)>,
    /// Benchmark logs and their platforms.
    pub(super) benchmarks: Vec<(Input, String)>,
    pub(super) places: Vec<Place>,
    /// Archives that may hold logs.
    pub(super) archives: Vec<Input>,
    /// What is not read, and why.
    pub(super) report: Report,
    platforms: BTreeSet<String>,
    /// Named files without a platform.
    nameless: Vec<String>,
}

impl Intake {
    /// Tells files apart.
    ///
    /// # Errors
    /// [`Error::Source`] for a named file without a platform, for a platform's name that no store can
    /// keep and, with `strict`, for a named file that no reader takes; [`Error::Usage`] for one that a
    /// dry run is not for.
    pub(super) fn of(found: Vec<Input>, options: &IngestOptions) -> Result<Self> {
        let (places, others) = find::split(found);
        let mut intake = Self {
            places,
            ..Self::default()
        };
        for input in others {
            if find::is_loose(&input) {
                intake.places.push(Place::Loose(input));
                continue;
            }
            if let Some(format) = recalled(&input) {
                intake.take(input, format, options)?;
                continue;
            }
            match caught(|| tsql_formats::format(&input.file)) {
                Ok(Ok(format)) => intake.take(input, format, options)?,
                Ok(Err(error)) => intake.fail(&input, reason(error.into())),
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
        Ok(intake)
    }

    fn take(&mut self, input: Input, format: Format, options: &IngestOptions) -> Result<()> {
        let given = options.platform.as_deref();
        let inside = (format == Format::Tar).then(|| find::in_tar(&input));
        let is_graphnet = matches!(format, Format::Benchmark | Format::Parquet)
            || inside == Some(Inside::Samples);
        if options.dry_run && !is_graphnet && !matches!(format, Format::Unknown(_)) {
            if input.explicit {
                return Err(Error::Usage(format!(
                    "{}: a dry run is for samples and benchmark logs of GraphNet",
                    input.path
                )));
            }
            return Ok(());
        }
        match format {
            Format::Lines(dialect) => match platform::of(given, dialect.dataset(), None, &input)? {
                Some(platform) => {
                    self.platforms.insert(platform.clone());
                    self.logs.push(Job {
                        input,
                        platform,
                        dialect,
                    });
                }
                None => self.nameless(&input, HINT),
            },
            Format::Benchmark => match runs::hardware(&input) {
                Ok(label) => {
                    // A directory of logs is named after anything but the hardware.
                    match platform::said(given, graphnet::NAME, label.as_deref(), &input) {
                        Some(platform) => {
                            self.platforms.insert(platform.clone());
                            self.benchmarks.push((input, platform));
                        }
                        None => self.nameless(&input, NO_HARDWARE),
                    }
                }
                Err(error) => self.fail(&input, reason(error)),
            },
            Format::Parquet if input.explicit || find::is_hub(&input) => {
                self.places.push(Place::Parquet(input));
            }
            Format::Parquet => self.skip(&input, &Looks::new("a Parquet file"), options)?,
            Format::Unknown(looks) => self.skip(&input, &looks, options)?,
            Format::Tar if is_graphnet => self.places.push(Place::Tar(input)),
            Format::Tar if inside == Some(Inside::Others) => self.archives.push(input),
            Format::Npz | Format::Tar => {
                let label = Some(tpugraphs::PLATFORM);
                let platform = platform::said(given, tpugraphs::NAME, label, &input);
                self.platforms.extend(platform);
                self.documents.push((input, format));
            }
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

/// What a file of an export was in the store that it came from, whatever it looks like.
fn recalled(input: &Input) -> Option<Format> {
    let mut dialects = Dialect::ALL.into_iter();
    let log = dialects.find(|dialect| input.was(dialect.dataset()).is_some());
    let benchmark = || input.was(graphnet::NAME).map(|_| Format::Benchmark);
    log.map(Format::Lines).or_else(benchmark)
}

const NAMELESS: &str = "no platform is known of it";

const NO_HARDWARE: &str = "\nhint: it names no hardware: give one with --platform NAME";

const HINT: &str =
    "\nhint: give one with --platform NAME, or ingest the folder that is named like it";

/// Why a file could not be opened, without its path.
fn reason(error: Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
