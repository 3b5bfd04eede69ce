//! What archives (tar) hold, as if each were the folder that it unpacks to.
//!
//! An archive is walked once. The files of a plain one are read where they lie; those of a compressed one are inflated
//! into a temporary file, a portion at a time.

use std::io::{self, Read};

use tokio::sync::mpsc;
use tsql_formats::naming::readable_path;
use tsql_formats::{DOCUMENTS, Input, Named, Opened, Passed, Spool};

use super::workers::caught;
use super::{Event, Progress};
use crate::error::{Error, Result};
use crate::formats::TAKING;
use crate::formats::taking::Admitting;

/// Bytes that lie inflated at once, unless one file alone has more, or files have to be there together.
const PORTION_BYTES: u64 = 256 << 20;

/// Files that do.
const PORTION_FILES: usize = 8192;

/// Files of an archive.
pub(super) struct Portion {
    /// Whose they all are, if the name of one says so; or else each is told by itself.
    pub(super) room: Option<&'static dyn Admitting>,
    pub(super) inputs: Vec<Input>,
    /// Files that are not there as a whole: path and reason.
    pub(super) failed: Vec<(String, String)>,
    /// Bytes that were inflated.
    pub(super) bytes: u64,
}

/// Starts to walk an archive, which is taken as `wanted`; dropping the result ends that.
pub(super) fn portions(
    archive: &Input,
    wanted: Option<Named>,
    progress: Progress,
) -> mpsc::Receiver<Result<Portion>> {
    let (sender, portions) = mpsc::channel(1);
    let archive = archive.clone();
    std::thread::spawn(move || {
        let mut walk = Walk {
            archive: &archive,
            wanted,
            progress,
            sender: &sender,
            is_begun: false,
            room: None,
            inputs: Vec::new(),
            failed: Vec::new(),
        };
        let done = caught(|| walk.all());
        let failed = done.unwrap_or_else(|reason| {
            Err(Error::Source {
                location: archive.path.clone(),
                reason,
            })
        });
        if let Err(error) = failed {
            // Whoever stopped listening knows why.
            let _ = sender.blocking_send(Err(error));
        }
    });
    portions
}

/// An archive that is being walked.
struct Walk<'a> {
    archive: &'a Input,
    wanted: Option<Named>,
    progress: Progress,
    sender: &'a mpsc::Sender<Result<Portion>>,
    /// A portion was handed on.
    is_begun: bool,
    room: Option<&'static dyn Admitting>,
    /// The portion that is being made.
    inputs: Vec<Input>,
    failed: Vec<(String, String)>,
}

/// Nothing more is walked: nobody listens, or the archive is damaged.
struct Ended;

impl Walk<'_> {
    fn all(&mut self) -> Result<()> {
        let failed = |error| Error::io(&self.archive.file)(error);
        let opened = self.archive.opened()?;
        let passed = Passed::default();
        let (stream, compression) = opened.stream(&passed).map_err(failed)?;
        // Damage is told beside what came before it.
        let _ = match compression {
            None => self.plain(&opened),
            Some(_) => self.inflated(stream, &passed),
        };
        Ok(())
    }

    /// Files that are read where they lie.
    fn plain(&mut self, opened: &Opened) -> Result<(), Ended> {
        let mut tar = tar::Archive::new(opened.bytes());
        let entries = tar.entries_with_seek();
        for entry in self.or_broken(entries)? {
            let found = entry.and_then(|entry| {
                let Some(name) = name(&entry)? else {
                    return Ok(None);
                };
                let (start, bytes) = (entry.raw_file_position(), entry.size());
                Ok(Some((name, opened.part(start, bytes))))
            });
            if let Some((name, opened)) = self.or_broken(found)? {
                self.found(name, opened)?;
            }
        }
        self.hand_on(0)
    }

    /// Files that are inflated.
    fn inflated(&mut self, stream: impl Read, passed: &Passed) -> Result<(), Ended> {
        let mut tar = tar::Archive::new(stream);
        let mut spool = self.or_broken(Spool::new())?;
        let entries = tar.entries();
        for entry in self.or_broken(entries)? {
            let found = entry.and_then(|mut entry| {
                let Some(name) = name(&entry)? else {
                    return Ok(None);
                };
                let bytes = entry.size();
                let (start, _) = spool.copy(&mut entry)?;
                Ok(Some((name, spool.part((start, bytes)))))
            });
            (self.progress)(Event::Bytes(passed.take().unwrap_or_default()));
            let Some((name, opened)) = self.or_broken_after(found, spool.bytes())? else {
                continue;
            };
            self.found(name, opened)?;
            let is_full = spool.bytes() >= PORTION_BYTES || self.inputs.len() >= PORTION_FILES;
            if is_full && !self.room.is_some_and(Admitting::needs_all) {
                self.hand_on(spool.bytes())?;
                spool = self.or_broken(Spool::new())?;
            }
        }
        self.hand_on(spool.bytes())
    }

    /// Takes a file to the portion.
    fn found(&mut self, name: String, opened: Opened) -> Result<(), Ended> {
        if self.room.is_none() {
            self.room = self.room_of(&name);
            if self.is_begun && self.room.is_some_and(Admitting::needs_all) {
                let most = PORTION_BYTES >> 20;
                let reason = format!(
                    "{name} may belong to files before it, and lies behind more than {most} MiB, or {PORTION_FILES} files, of others\n\
                     hint: unpack the archive, and ingest the folder"
                );
                return self.or_broken_after(Err(io::Error::other(reason)), 0);
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

    /// Whose archive it is, by the name of a file in it.
    fn room_of(&self, name: &str) -> Option<&'static dyn Admitting> {
        let told = DOCUMENTS.iter().find(|document| document.is_member(name))?;
        let room = TAKING.iter().find(|room| room.takes(*told))?;
        room.is_meant(self.wanted).then_some(*room)
    }

    /// What was read; or tells that the archive is damaged, after what came before that.
    fn or_broken<T>(&mut self, read: io::Result<T>) -> Result<T, Ended> {
        self.or_broken_after(read, 0)
    }

    fn or_broken_after<T>(&mut self, read: io::Result<T>, bytes: u64) -> Result<T, Ended> {
        read.or_else(|error| {
            let path = self.archive.path.clone();
            self.failed.push((path, error.to_string()));
            self.hand_on(bytes)?;
            Err(Ended)
        })
    }

    /// Hands on the portion.
    fn hand_on(&mut self, bytes: u64) -> Result<(), Ended> {
        self.is_begun = true;
        let mut inputs = std::mem::take(&mut self.inputs);
        let mut failed = std::mem::take(&mut self.failed);
        if self.room.is_none() {
            inputs.retain(|input| !is_hidden(&input.name));
        }
        if !self.room.is_some_and(Admitting::needs_all) {
            inputs.retain(|input| {
                let cut = input.opened.as_ref().and_then(|opened| opened.cut().ok()?);
                failed.extend(
                    cut.iter()
                        .map(|reason| (input.path.clone(), reason.clone())),
                );
                cut.is_none()
            });
        }
        let portion = Portion {
            room: self.room,
            inputs,
            failed,
            bytes,
        };
        self.sender.blocking_send(Ok(portion)).map_err(|_| Ended)
    }
}

/// The name of a file; `None` for what is none.
fn name(entry: &tar::Entry<'_, impl Read>) -> io::Result<Option<String>> {
    if !entry.header().entry_type().is_file() {
        return Ok(None);
    }
    let name = readable_path(&entry.path()?);
    Ok(Some(name.trim_start_matches("./").to_owned()))
}

fn is_hidden(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_none_or(|file| file.starts_with('.'))
}
