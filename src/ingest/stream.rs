//! Streams: records that come while they are made, stored in groups while they come.
//!
//! ```text
//! producer ─▶ Appender ─▶ groups of whole lines ─▶ the same pipeline as files ─▶ commit, told
//! ```
//!
//! A stream is a source like a file that grows; each group is a segment of it. After a failure the
//! producer sends the stream again from its beginning: what the store has is proven by its hash and
//! left out, so that each record is stored once.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use tokio::runtime::Handle;
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{mpsc, oneshot, watch};
use tsql_codecs::identity::ContentHasher;
use tsql_formats::beside::Beside;
use tsql_formats::{Folder, Input, Passed};

use super::lines::{self, Job, Message, Position, Reader};
use super::paced::{Handed, Limits, Paced};
use super::{AppendOptions, IngestOptions, Report};
use crate::error::{Error, Result};
use crate::formats::{StreamFormat, platform};
use crate::ledger::{Labels, Ledger, Reading, Source};
use crate::store::Store;

/// Folder of streams among the sources.
const FOLDER: &str = "streams";

/// Bytes that are read of an input at once.
const READ_BYTES: usize = 1 << 16;

/// Pieces that wait to be stored; then the producer waits.
const WAITING: usize = 64;

/// Groups after which small files are merged.
const MERGE_EVERY: u64 = 32;

impl AppendOptions {
    fn job(&self) -> Result<Job> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let parts = |name: &str| {
            name.split('/')
                .all(|part| !part.trim_matches('.').is_empty())
        };
        if !self.stream.chars().all(plain) || !parts(&self.stream) {
            let reason = format!(
                "`{}` is no name of a stream: letters, digits, `-`, `_`, `.` and `/`",
                self.stream
            );
            return Err(Error::Argument {
                name: "stream",
                reason,
            });
        }
        platform::check(&self.platform, "stream")?;
        Labels::of_pairs(&self.labels)?;
        let dialect = self.format.dialect();
        let ending = dialect.ending();
        let name = format!("{FOLDER}/{}/{}.{ending}", self.platform, self.stream);
        Ok(Job {
            input: Input {
                explicit: true,
                ..Input::new(PathBuf::new(), format!("stream {}", self.stream), name)
            },
            platform: self.platform.clone(),
            dialect,
            compression: None,
            beside: None,
        })
    }
}

/// Takes a stream into a store while it comes.
///
/// Lines are those of `tsql ingest`. What is written is stored in groups, in the background; [`Appender::flush`] waits until all of it is durable. Dropped without
/// [`Appender::close`], it stores what it was given, and nobody hears whether that worked.
pub struct Appender {
    sender: SyncSender<Handed>,
    durable: watch::Receiver<Position>,
    /// Small files are being merged.
    merging: watch::Receiver<bool>,
    run: oneshot::Receiver<Result<Report>>,
    written: Position,
    /// What the store had of the stream before.
    known: Position,
}

impl Store {
    /// Begins to append a stream, or goes on with it: what is written is the stream from its
    /// beginning on.
    ///
    /// # Errors
    /// [`Error::Argument`] for a name or a label that cannot be used.
    pub async fn appender(&self, options: &AppendOptions) -> Result<Appender> {
        let ledger = Ledger::load(self).await?;
        let job = options.job()?;
        let known = ledger.named(&job.input.name).map(Position::of);
        let (sender, input) = sync_channel(WAITING);
        let (told, durable) = watch::channel(Position::default());
        let (merges, merging) = watch::channel(false);
        let (end, run) = oneshot::channel();
        let (store, options, runtime) = (self.clone(), options.clone(), Handle::current());
        std::thread::spawn(move || {
            let durable = move |position| {
                told.send_replace(position);
            };
            let report = runtime.block_on(store.run_stream(job, &options, input, durable, merges));
            // Whoever dropped the appender does not want to know.
            let _ = end.send(report);
        });
        Ok(Appender {
            sender,
            durable,
            merging,
            run,
            written: Position::default(),
            known: known.unwrap_or_default(),
        })
    }

    /// Appends all that `input` gives until it ends; `durable` is told how far the stream is in the
    /// store after each group.
    ///
    /// # Errors
    /// [`Error::Argument`] for a name or a label that cannot be used; [`Error::Source`] where the store has another
    /// beginning of the stream, or another process appends to it; [`Error::Rejected`] where that is
    /// asked for; failures of the storage. What was told to be durable stays in any case.
    pub async fn append(
        &self,
        mut input: impl Read + Send + 'static,
        options: &AppendOptions,
        durable: impl Fn(Position) + Send + Sync + 'static,
    ) -> Result<Report> {
        let job = options.job()?;
        let (sender, received) = sync_channel(WAITING);
        let format = options.format;
        std::thread::spawn(move || {
            if format == StreamFormat::Arrow {
                super::batches::hand_on(input, &sender);
                return;
            }
            loop {
                let mut bytes = vec![0; READ_BYTES];
                let handed = match input.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(count) => {
                        bytes.truncate(count);
                        Handed::Bytes(bytes)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Handed::Failed(error),
                };
                let failed = matches!(handed, Handed::Failed(_));
                if sender.send(handed).is_err() || failed {
                    return;
                }
            }
        });
        let (merging, _) = watch::channel(false);
        self.run_stream(job, options, received, durable, merging)
            .await
    }

    async fn run_stream(
        &self,
        job: Job,
        options: &AppendOptions,
        input: Receiver<Handed>,
        durable: impl Fn(Position) + Send + Sync + 'static,
        merging: watch::Sender<bool>,
    ) -> Result<Report> {
        let begin = Instant::now();
        let limits = Limits {
            lines: options.group_lines.max(1),
            bytes: options.group_bytes.max(1),
            time: options.group_time,
        };
        let ingest = IngestOptions {
            strict: options.strict,
            labels: options.labels.clone(),
            ..IngestOptions::default()
        };
        let (name, jobs) = (job.input.path.clone(), [job.clone()]);
        let paced = Paced::new(input, limits, Arc::clone(&options.stop));
        let read = move |reader: &mut Reader<'_>| {
            // Nobody listens any more where this ends early: the run says why.
            let _ = reader.stream(&job, paced);
        };
        let merging = Arc::new(merging);
        let (due, mut merges) = mpsc::unbounded_channel();
        // Each of many short streams merges now and then, too.
        let groups = AtomicU64::new(fastrand::u64(..MERGE_EVERY));
        let told = Arc::clone(&merging);
        let durable = move |position| {
            let count = groups.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(MERGE_EVERY) {
                told.send_replace(true);
                // Whoever merges ends after this.
                let _ = due.send(());
            }
            durable(position);
        };
        let run = lines::run_reader(self, &ingest, &jobs, read, Some(Arc::new(durable)));
        let merged = async {
            let mut unmerged = None;
            while merges.recv().await.is_some() {
                unmerged = self.merge_small().await;
                merging.send_replace(false);
            }
            unmerged
        };
        let (report, unmerged) = tokio::join!(run, merged);
        let Some(mut report) = report? else {
            return Err(Error::Source {
                location: name,
                reason: "another process appends to it\n\
                         hint: give each producer a stream of its own"
                    .to_owned(),
            });
        };
        if let Some((location, reason)) = report.failed_files.pop() {
            return Err(Error::Source { location, reason });
        }
        report.unlabelled_files = u64::from(report.files == 0 && !options.labels.is_empty());
        report.unmerged = unmerged;
        report.elapsed = begin.elapsed();
        Ok(report)
    }
}

impl Appender {
    /// Hands over bytes of the stream: lines, or parts of them. Waits while too much waits to be
    /// stored.
    ///
    /// # Errors
    /// Why the stream cannot be stored; nothing more is taken then.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written.bytes += bytes.len() as u64;
        self.written.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.hand(Handed::Bytes(bytes.to_vec())).await
    }

    /// Hands over records as columns, one for each key of a line (`workload_key`, `steps`,
    /// `repeats_ns`, ...), for a stream of a format whose lines have such keys.
    ///
    /// # Errors
    /// [`Error::Argument`] for columns that cannot be lines, and as for [`Appender::write`].
    pub async fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let lines = super::batches::lines(batch);
        let lines = lines.map_err(|error| Error::Argument {
            name: "batch",
            reason: error.to_string(),
        })?;
        self.write(&lines).await
    }

    /// Waits until all whole lines that were written are durable, and no small files are being merged;
    /// says how far that is. While a
    /// stream is sent again, nothing of it counts before all that the store has was seen.
    ///
    /// # Errors
    /// Why they cannot be stored.
    pub async fn flush(&mut self) -> Result<Position> {
        if self.written.bytes < self.known.bytes {
            return Ok(self.durable());
        }
        self.hand(Handed::Flush).await?;
        let lines = self.written.lines;
        let waited = self.durable.wait_for(|durable| durable.lines >= lines);
        let reached = waited.await.ok().map(|position| *position);
        // So nothing is at work while whoever measures goes on.
        let rested = self.merging.wait_for(|merging| !merging).await.is_ok();
        match reached.filter(|_| rested) {
            Some(position) => Ok(position),
            None => self.fail().await,
        }
    }

    /// What the store had of the stream before.
    #[cfg(all(feature = "measure", target_os = "linux"))]
    pub(crate) fn known(&self) -> Position {
        self.known
    }

    /// How far the stream is in the store.
    #[must_use]
    pub fn durable(&self) -> Position {
        *self.durable.borrow()
    }

    /// Stores what is left.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub async fn close(self) -> Result<Report> {
        drop(self.sender);
        ended(self.run.await)
    }

    async fn hand(&mut self, mut handed: Handed) -> Result<()> {
        loop {
            handed = match self.sender.try_send(handed) {
                Ok(()) => return Ok(()),
                Err(std::sync::mpsc::TrySendError::Full(handed)) => handed,
                Err(std::sync::mpsc::TrySendError::Disconnected(_)) => return self.fail().await,
            };
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The error that ended the run.
    async fn fail<T>(&mut self) -> Result<T> {
        ended((&mut self.run).await)?;
        Err(Error::Closed)
    }
}

fn ended(outcome: std::result::Result<Result<Report>, RecvError>) -> Result<Report> {
    let ended = || Err(Error::Closed);
    outcome.unwrap_or_else(|_| ended())
}

impl Reader<'_> {
    /// Hands on everything of a stream, group by group; `None` where nobody listens any more.
    fn stream(&mut self, job: &Job, mut paced: Paced) -> Option<()> {
        let known = self.ledger.named(&job.input.name).cloned();
        let (mut reading, mut hasher) = match resumed(job, known.as_ref(), &mut paced) {
            Ok(resumed) => resumed,
            Err(error) => return self.fail(&job.input.path, error),
        };
        if let Some(known) = &known {
            self.send(Message::Known(Position::of(known)))?;
        }
        let beside = Arc::new(Beside {
            source_id: reading.source_id,
            folder: Folder::default(),
            graphs: None,
        });
        while paced.next_group() {
            let chunks = tsql_formats::lines::Chunks::new(&mut paced, hasher, reading.first_byte);
            let end = self.read(
                job,
                reading.clone(),
                &beside,
                (chunks, None, Passed::default()),
            )?;
            if end.failed {
                break;
            }
            reading.segment += 1;
            reading.first_byte = end.end_byte;
            reading.first_line += paced.lines();
            reading.crlf = Some(end.crlf);
            hasher = end.hasher;
        }
        Some(())
    }
}

/// Reads past what the store has of the stream; says why where it is another one.
fn resumed(
    job: &Job,
    known: Option<&Source>,
    paced: &mut Paced,
) -> std::result::Result<(Reading, ContentHasher), String> {
    let new = Reading::of_file(job.dialect.dataset(), &job.platform, job.input.name.clone());
    let mut hasher = ContentHasher::new();
    let Some(known) = known else {
        return Ok((new, hasher));
    };
    // The same without a last line that has no end, and that line.
    let (mut whole_lines, mut line) = (ContentHasher::new(), Vec::new());
    let skipped = paced.skip(known.end_byte, |bytes| {
        hasher.update(bytes);
        let (whole, rest) = match memchr::memrchr(b'\n', bytes) {
            Some(end) => bytes.split_at(end + 1),
            None => (&[][..], bytes),
        };
        if !whole.is_empty() {
            whole_lines.update(&line);
            whole_lines.update(whole);
            line.clear();
        }
        line.extend_from_slice(rest);
    });
    let skipped = skipped.map_err(|error| error.to_string())?;
    if skipped < known.end_byte || hasher.hex() != known.content_hash {
        let wrong = if skipped < known.end_byte {
            "and the input ended within them"
        } else {
            "that do not begin this input"
        };
        return Err(format!(
            "the store has {} lines of it {wrong}\n\
             hint: send the stream again from its beginning, or give a new one another name",
            known.last_line
        ));
    }
    let mut reading = Reading {
        source_id: known.source_id,
        platform: known.platform.clone(),
        first_platform: known.first_platform.clone(),
        segment: known.segments,
        first_byte: known.end_byte,
        first_line: known.last_line + u64::from(known.open_line.is_none()),
        crlf: known.crlf.filter(|_| known.end_byte > 0),
        ..new
    };
    if known.open_line.as_deref() == Some("other") {
        // It broke off, and was kept as it was: now it is read to its end.
        reading.first_byte -= line.len() as u64;
        paced.put_back(line);
        hasher = whole_lines;
    }
    Ok((reading, hasher))
}
