//! Reads tar archives as if they were unpacked to a folder.
//!
//! An archive is walked once. Members of an uncompressed archive are read in place. Those of a compressed
//! one are decompressed into a temporary file, in batches.

use std::io::{self, Read};

use tokio::sync::mpsc;
use tsql_adapters::catch_panic;
use tsql_adapters::formats::DETECTORS;
use tsql_error::{Error, Result};
use tsql_formats::naming::path_to_text;
use tsql_formats::{ByteCounter, DOCUMENTS, FileHandle, Input, NamedFormat, Spool};

use super::{Event, Progress};

pub(crate) use tsql_adapters::formats::format_reader::FormatDetector;

/// Maximum number of decompressed bytes at once, unless a single file is larger or all files must be
/// present together.
const PORTION_BYTES: u64 = 256 << 20;

/// Maximum number of decompressed files at once.
const PORTION_FILES: usize = 8192;

/// A batch of members of an archive.
pub(super) struct ArchiveBatch {
    /// Format of all members, if the name of one determines it. Otherwise each member is detected
    /// separately.
    pub(super) room: Option<&'static dyn FormatDetector>,
    pub(super) inputs: Vec<Input>,
    /// Incomplete members: path and reason.
    pub(super) failed: Vec<(String, String)>,
    /// Number of decompressed bytes.
    pub(super) bytes: u64,
}

/// Starts a thread that walks an archive. `wanted` is the requested format. Dropping the receiver stops it.
pub(super) fn archive_batches(
    archive: &Input,
    wanted: Option<NamedFormat>,
    progress: Progress,
) -> mpsc::Receiver<Result<ArchiveBatch>> {
    let (sender, portions) = mpsc::channel(1);
    let archive = archive.clone();
    std::thread::spawn(move || {
        let mut walk = ArchiveWalk {
            archive: &archive,
            wanted,
            progress,
            sender: &sender,
            is_begun: false,
            room: None,
            inputs: Vec::new(),
            failed: Vec::new(),
        };
        let done = catch_panic(|| walk.walk());
        let failed = done.unwrap_or_else(|reason| {
            Err(Error::Source {
                location: archive.path.clone(),
                reason,
            })
        });
        if let Err(error) = failed {
            // The send fails if the receiver is gone.
            let _ = sender.blocking_send(Err(error));
        }
    });
    portions
}

/// An archive walk.
struct ArchiveWalk<'a> {
    archive: &'a Input,
    wanted: Option<NamedFormat>,
    progress: Progress,
    sender: &'a mpsc::Sender<Result<ArchiveBatch>>,
    /// A batch was already sent.
    is_begun: bool,
    room: Option<&'static dyn FormatDetector>,
    /// Members of the current batch.
    inputs: Vec<Input>,
    failed: Vec<(String, String)>,
}

/// The walk ends: the receiver is gone, or the archive is damaged.
struct WalkStopped;

impl ArchiveWalk<'_> {
    fn walk(&mut self) -> Result<()> {
        let failed = |error| Error::io(&self.archive.file)(error);
        let opened = self.archive.open_file()?;
        let passed = ByteCounter::default();
        let (stream, compression) = opened.stream(&passed).map_err(failed)?;
        // Damage is reported together with the members before it.
        let _ = match compression {
            None => self.walk_plain(&opened),
            Some(_) => self.walk_compressed(stream, &passed),
        };
        Ok(())
    }

    /// Walks an uncompressed archive. Members are read in place.
    fn walk_plain(&mut self, opened: &FileHandle) -> Result<(), WalkStopped> {
        let mut tar = tar::Archive::new(opened.reader());
        let entries = tar.entries_with_seek();
        for entry in self.or_report_damage(entries)? {
            let found = entry.and_then(|entry| {
                let Some(name) = member_name(&entry)? else {
                    return Ok(None);
                };
                let (start, bytes) = (entry.raw_file_position(), entry.size());
                Ok(Some((name, opened.section(start, bytes))))
            });
            if let Some((name, opened)) = self.or_report_damage(found)? {
                self.add_member(name, opened)?;
            }
        }
        self.send_batch(0)
    }

    /// Walks a compressed archive. Members are decompressed to a temporary file.
    fn walk_compressed(
        &mut self,
        stream: impl Read,
        passed: &ByteCounter,
    ) -> Result<(), WalkStopped> {
        let mut tar = tar::Archive::new(stream);
        let mut spool = self.or_report_damage(Spool::new())?;
        let entries = tar.entries();
        for entry in self.or_report_damage(entries)? {
            let found = entry.and_then(|mut entry| {
                let Some(name) = member_name(&entry)? else {
                    return Ok(None);
                };
                let bytes = entry.size();
                let (start, _) = spool.copy(&mut entry)?;
                Ok(Some((name, spool.section((start, bytes)))))
            });
            (self.progress)(Event::Bytes(passed.take().unwrap_or_default()));
            let Some((name, opened)) = self.or_report_damage_after(found, spool.bytes())? else {
                continue;
            };
            self.add_member(name, opened)?;
            let is_full = spool.bytes() >= PORTION_BYTES || self.inputs.len() >= PORTION_FILES;
            if is_full && !self.room.is_some_and(FormatDetector::needs_whole_archive) {
                self.send_batch(spool.bytes())?;
                spool = self.or_report_damage(Spool::new())?;
            }
        }
        self.send_batch(spool.bytes())
    }

    /// Adds a member to the current batch.
    fn add_member(&mut self, name: String, opened: FileHandle) -> Result<(), WalkStopped> {
        if self.room.is_none() {
            self.room = self.format_of(&name);
            if self.is_begun && self.room.is_some_and(FormatDetector::needs_whole_archive) {
                let most = PORTION_BYTES >> 20;
                let reason = format!(
                    "{name} may belong to earlier files, and comes after more than {most} MiB or \
                     {PORTION_FILES} files\nhint: unpack the archive, and ingest the folder"
                );
                return self.or_report_damage_after(Err(io::Error::other(reason)), 0);
            }
        }
        let directory = name.rsplit('/').nth(1).map(str::to_owned);
        let path = format!("{}/{name}", self.archive.path);
        self.inputs.push(Input {
            directory,
            opened: Some(opened),
            ..Input::new(self.archive.file.clone(), path, name)
        });
        Ok(())
    }

    /// Format of the archive, from the name of a member.
    fn format_of(&self, name: &str) -> Option<&'static dyn FormatDetector> {
        let told = DOCUMENTS
            .iter()
            .find(|document| document.matches_member(name))?;
        let room = DETECTORS.iter().find(|room| room.handles(*told))?;
        room.matches_request(self.wanted).then_some(*room)
    }

    /// Unwraps a read result. Reports damage after the members before it.
    fn or_report_damage<T>(&mut self, read: io::Result<T>) -> Result<T, WalkStopped> {
        self.or_report_damage_after(read, 0)
    }

    fn or_report_damage_after<T>(
        &mut self,
        read: io::Result<T>,
        bytes: u64,
    ) -> Result<T, WalkStopped> {
        read.or_else(|error| {
            let path = self.archive.path.clone();
            self.failed.push((path, error.to_string()));
            self.send_batch(bytes)?;
            Err(WalkStopped)
        })
    }

    /// Sends the current batch.
    fn send_batch(&mut self, bytes: u64) -> Result<(), WalkStopped> {
        self.is_begun = true;
        let mut inputs = std::mem::take(&mut self.inputs);
        let mut failed = std::mem::take(&mut self.failed);
        if self.room.is_none() {
            inputs.retain(|input| !is_hidden(&input.name));
        }
        if !self.room.is_some_and(FormatDetector::needs_whole_archive) {
            inputs.retain(|input| {
                let cut = input
                    .opened
                    .as_ref()
                    .and_then(|opened| opened.truncation().ok()?);
                failed.extend(
                    cut.iter()
                        .map(|reason| (input.path.clone(), reason.clone())),
                );
                cut.is_none()
            });
        }
        let portion = ArchiveBatch {
            room: self.room,
            inputs,
            failed,
            bytes,
        };
        self.sender
            .blocking_send(Ok(portion))
            .map_err(|_| WalkStopped)
    }
}

/// Name of a regular file. `None` for other entries.
fn member_name(entry: &tar::Entry<'_, impl Read>) -> io::Result<Option<String>> {
    if !entry.header().entry_type().is_file() {
        return Ok(None);
    }
    let name = path_to_text(&entry.path()?);
    Ok(Some(name.trim_start_matches("./").to_owned()))
}

fn is_hidden(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_none_or(|file| file.starts_with('.'))
}
