//! Archives of logs: their files unpacked into a temporary folder, a portion at a time.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use tokio::sync::mpsc;
use tsql_formats::naming::readable_path;
use tsql_formats::{Compression, Head, Input, Kind, Looks};

use super::SkippedFile;
use super::workers::caught;
use crate::error::{Error, Result};
use tsql_folders::Scratch;

/// Bytes that lie unpacked at once, unless one file alone has more.
const PORTION_BYTES: u64 = 256 << 20;

/// Files that do.
const PORTION_FILES: usize = 8192;

/// Files that were unpacked; they go when this does.
pub(super) struct Portion {
    folder: Scratch,
    bytes: u64,
    pub(super) inputs: Vec<Input>,
    /// Files that no reader takes.
    pub(super) skipped: Vec<SkippedFile>,
    /// Files that are not there as a whole: path and reason.
    pub(super) failed: Vec<(String, String)>,
}

impl Portion {
    fn new() -> Result<Self> {
        Ok(Self {
            folder: Scratch::new()?,
            bytes: 0,
            inputs: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
        })
    }
}

/// Starts to unpack an archive; dropping the result ends that. Files that no reader takes stay in it, unless
/// `all` are wanted.
pub(super) fn portions(archive: &Input, all: bool) -> mpsc::Receiver<Result<Portion>> {
    let (sender, portions) = mpsc::channel(1);
    let archive = archive.clone();
    std::thread::spawn(move || {
        let done = caught(|| unpack(&archive, all, &sender));
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

fn unpack(archive: &Input, all: bool, sender: &mpsc::Sender<Result<Portion>>) -> Result<()> {
    let (stream, _) = tsql_formats::open(&archive.file)?;
    let mut portion = Portion::new()?;
    let mut tar = tar::Archive::new(stream);
    let broken = |error: io::Error| (archive.path.clone(), error.to_string());
    let entries = tar.entries().map_err(Error::io(&archive.file))?;
    for entry in entries {
        let member = entry.and_then(|mut entry| member(archive, &mut entry, all, &mut portion));
        if let Err(error) = member {
            portion.failed.push(broken(error));
            break;
        }
        if portion.bytes >= PORTION_BYTES || portion.inputs.len() >= PORTION_FILES {
            let full = std::mem::replace(&mut portion, Portion::new()?);
            if sender.blocking_send(Ok(full)).is_err() {
                return Ok(());
            }
        }
    }
    let _ = sender.blocking_send(Ok(portion));
    Ok(())
}

/// Unpacks a file, unless nobody takes it.
fn member(
    archive: &Input,
    entry: &mut tar::Entry<'_, impl io::Read>,
    all: bool,
    portion: &mut Portion,
) -> io::Result<()> {
    let name = readable_path(&entry.path()?);
    let name = name.trim_start_matches("./").to_owned();
    let mut parts = name.rsplit('/');
    let is_hidden = parts.next().is_none_or(|file| file.starts_with('.'));
    let directory = parts.next().map(str::to_owned);
    if !entry.header().entry_type().is_file() || is_hidden {
        return Ok(());
    }
    let path = format!("{}/{name}", archive.path);
    let size = entry.size();
    let mut head = Head::new(&mut *entry);
    if Compression::of(&head.bytes).is_none() {
        let looks = match head.tell()? {
            Kind::Unknown(looks) if !all => Some(looks),
            Kind::Archive => Some(Looks::new("an archive within an archive")),
            _ => None,
        };
        if let Some(looks) = looks {
            portion.skipped.push(SkippedFile::found(path, &looks));
            return Ok(());
        }
    }
    let file = portion.folder.path().join(portion.inputs.len().to_string());
    let begun = std::mem::take(&mut head.bytes);
    let written = copy(&mut begun.as_slice().chain(entry), &file)?;
    if written < size {
        let reason = format!("the archive ends after {written} of its {size} bytes");
        portion.failed.push((path, reason));
        return Ok(());
    }
    portion.bytes += written;
    portion.inputs.push(Input {
        file,
        path,
        name,
        directory,
        explicit: false,
        exported: None,
    });
    Ok(())
}

fn copy(from: &mut impl io::Read, to: &Path) -> io::Result<u64> {
    io::copy(from, &mut File::create(to)?)
}
