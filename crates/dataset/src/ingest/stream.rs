//! Streams: records are ingested while they are produced, and stored in commit batches.
//!
//! ```text
//! producer ─▶ Appender ─▶ batches of whole lines ─▶ the same pipeline as files ─▶ commit, reported
//! ```
//!
//! A stream is a source like a file that grows. Each commit batch is a segment of it. After a failure the
//! producer sends the stream again from its beginning. The stored part is verified by its hash and
//! skipped, so each record is stored once.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tsql_adapters::arrow_lines;
use tsql_adapters::formats::{StreamFormat, platform};
use tsql_adapters::ingest_log::{IngestLog, Labels, ReadPlan, Source};
use tsql_codecs::identity::ContentHasher;
use tsql_error::{Error, Result};
use tsql_formats::log_context::LogContext;
use tsql_formats::{ByteCounter, Folder, Input};
use tsql_store::Store;

use super::commit_groups::{GroupedInput, Limits, StreamMessage};
use super::logs::{self, Job, Message, Position, Reader};
use super::{AppendOptions, IngestOptions, Report};
use crate::ingest::merge_small;

/// Folder of streams among the sources.
const STREAM_FOLDER: &str = "streams";

/// Bytes per read of an input.
const READ_BYTES: usize = 1 << 16;

/// Maximum number of queued pieces. Then the producer waits.
const QUEUE_LENGTH: usize = 64;

/// Number of commit batches between merges of small files.
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
                "`{}` is not a valid stream name, expected ASCII characters a-z, A-Z, 0-9, `-`, \
                 `_`, `.` and `/`",
                self.stream
            );
            return Err(Error::Argument {
                name: "stream",
                reason,
            });
        }
        platform::check(&self.platform, "stream")?;
        Labels::from_pairs(&self.labels)?;
        let dialect = self.format.dialect();
        let ending = dialect.file_extension();
        let name = format!("{STREAM_FOLDER}/{}/{}.{ending}", self.platform, self.stream);
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

/// Ingests a stream while it is produced.
///
/// Lines are those of `tsql ingest`. Written lines are stored in commit batches, in the background.
/// [`Appender::flush`] waits until all of them are durable. Dropping it without [`Appender::close`] stores
/// everything written, but ignores errors.
pub struct Appender {
    sender: SyncSender<StreamMessage>,
    durable: watch::Receiver<Position>,
    /// Whether small files are being merged.
    merging: watch::Receiver<bool>,
    /// The outcome of the run, until it was returned.
    run: Option<oneshot::Receiver<Result<Report>>>,
    written: Position,
    /// Position that the store had when the stream was opened.
    resumed: Position,
}

/// Starts or resumes a stream. The written data is the stream from its beginning.
///
/// # Errors
///
/// [`Error::Argument`] for an invalid name or label.
pub async fn open_appender(store: &Store, options: &AppendOptions) -> Result<Appender> {
    let ledger = IngestLog::load(store).await?;
    let job = options.job()?;
    let stored = ledger
        .source_by_name(&job.input.name)
        .map(Position::from_source);
    let (sender, input) = sync_channel(QUEUE_LENGTH);
    let (told, durable) = watch::channel(Position::default());
    let (merges, merging) = watch::channel(false);
    let (end, run) = oneshot::channel();
    let (store, options, runtime) = (store.clone(), options.clone(), Handle::current());
    std::thread::spawn(move || {
        let durable = move |position| {
            told.send_replace(position);
        };
        let report = runtime.block_on(run_stream(&store, job, &options, input, durable, merges));
        // The send fails if the appender was dropped.
        let _ = end.send(report);
    });
    Ok(Appender {
        sender,
        durable,
        merging,
        run: Some(run),
        written: Position::default(),
        resumed: stored.unwrap_or_default(),
    })
}

/// Appends `input` until it ends. Calls `durable` with the stored position after each commit batch.
///
/// # Errors
///
/// [`Error::Argument`] for an invalid name or label. [`Error::Source`] if the store has another
/// beginning of the stream, or another process appends to it. [`Error::Rejected`] with `strict`.
/// Storage errors. Data that was reported as durable stays in any case.
pub async fn append(
    store: &Store,
    mut input: impl Read + Send + 'static,
    options: &AppendOptions,
    durable: impl Fn(Position) + Send + Sync + 'static,
) -> Result<Report> {
    let job = options.job()?;
    let (sender, received) = sync_channel(QUEUE_LENGTH);
    let format = options.format;
    std::thread::spawn(move || {
        if format == StreamFormat::ARROW {
            if let Err(error) = arrow_lines::write_lines(input, LineSender(&sender)) {
                // The send fails if the receiver is gone.
                let _ = sender.send(StreamMessage::Failed(error));
            }
            return;
        }
        loop {
            let mut bytes = vec![0; READ_BYTES];
            let handed = match input.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => {
                    bytes.truncate(count);
                    StreamMessage::Bytes(bytes)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => StreamMessage::Failed(error),
            };
            let failed = matches!(handed, StreamMessage::Failed(_));
            if sender.send(handed).is_err() || failed {
                return;
            }
        }
    });
    let (merging, _) = watch::channel(false);
    run_stream(store, job, options, received, durable, merging).await
}

/// Sends lines as they are written.
struct LineSender<'a>(&'a SyncSender<StreamMessage>);

impl Write for LineSender<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(StreamMessage::Bytes(lines.to_vec()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn run_stream(
    store: &Store,
    job: Job,
    options: &AppendOptions,
    input: Receiver<StreamMessage>,
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
    let (name, platform) = (job.input.path.clone(), job.platform.clone());
    let jobs = [job.clone()];
    let paced = GroupedInput::new(input, limits, Arc::clone(&options.stop));
    let read = move |reader: &mut Reader<'_>| {
        // The result is ignored if the receiver is gone: the run reports the reason.
        let _ = reader.read_stream(&job, paced);
    };
    let merging = Arc::new(merging);
    let (due, mut merges) = mpsc::unbounded_channel();
    // The random start lets short streams merge occasionally too.
    let groups = AtomicU64::new(fastrand::u64(..MERGE_EVERY));
    let told = Arc::clone(&merging);
    let durable = move |position| {
        let count = groups.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(MERGE_EVERY) {
            told.send_replace(true);
            // The merge loop ends after this sender is dropped.
            let _ = due.send(());
        }
        durable(position);
    };
    let run = logs::run_reader(store, &ingest, &jobs, read, Some(Arc::new(durable)));
    let merged = async {
        let mut unmerged = None;
        while merges.recv().await.is_some() {
            unmerged = merge_small(store).await;
            merging.send_replace(false);
        }
        unmerged
    };
    let (report, unmerged) = tokio::join!(run, merged);
    let Some(mut report) = report? else {
        return Err(Error::Source {
            location: name,
            reason: "another process appends to it\nhint: use a separate stream for each producer"
                .to_owned(),
        });
    };
    if let Some((location, reason)) = report.failed_files.pop() {
        return Err(Error::Source { location, reason });
    }
    report.ignored_label_files = u64::from(report.files == 0 && !options.labels.is_empty());
    report.platforms.insert(platform);
    report.merge_error = unmerged;
    report.elapsed = begin.elapsed();
    Ok(report)
}

impl Appender {
    /// Sends bytes of the stream: lines, or parts of them. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// The reason why the stream cannot be stored. Nothing more is accepted then.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written.bytes += bytes.len() as u64;
        self.written.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.send(StreamMessage::Bytes(bytes.to_vec())).await
    }

    /// Sends records as columns, one for each key of a line (`workload_key`, `steps`, `repeats_ns`, ...).
    /// The stream's format must have lines with such keys.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for columns that cannot be converted to lines, and as for [`Appender::write`].
    pub async fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let lines = arrow_lines::batch_to_lines(batch);
        let lines = lines.map_err(|error| Error::Argument {
            name: "batch",
            reason: error.to_string(),
        })?;
        self.write(&lines).await
    }

    /// Waits until all complete written lines are durable and no small files are being merged. Returns the
    /// durable position.
    ///
    /// While a stream is sent again, only data beyond the stored part counts.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be stored.
    pub async fn flush(&mut self) -> Result<Position> {
        if self.written.bytes < self.resumed.bytes {
            return Ok(self.durable());
        }
        self.send(StreamMessage::Flush).await?;
        let lines = self.written.lines;
        let waited = self.durable.wait_for(|durable| durable.lines >= lines);
        let reached = waited.await.ok().map(|position| *position);
        // Waiting for merges keeps background work out of measurements of the caller.
        let rested = self.merging.wait_for(|merging| !merging).await.is_ok();
        match reached.filter(|_| rested) {
            Some(position) => Ok(position),
            None => self.fail().await,
        }
    }

    /// Returns the position that the store had when the stream was opened; zero for a new stream. A producer that
    /// resumes sends the stream from its beginning; lines before this position are compared and not stored again.
    #[must_use]
    pub fn resume_position(&self) -> Position {
        self.resumed
    }

    /// Returns the position up to which the written data are stored durably. It is zero until the first data have been
    /// committed, or compared with the stored beginning.
    #[must_use]
    pub fn durable(&self) -> Position {
        *self.durable.borrow()
    }

    /// Stores the remaining data.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be stored.
    pub async fn close(self) -> Result<Report> {
        drop(self.sender);
        outcome(self.run).await
    }

    async fn send(&mut self, mut handed: StreamMessage) -> Result<()> {
        loop {
            handed = match self.sender.try_send(handed) {
                Ok(()) => return Ok(()),
                Err(std::sync::mpsc::TrySendError::Full(handed)) => handed,
                Err(std::sync::mpsc::TrySendError::Disconnected(_)) => return self.fail().await,
            };
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns the error that ended the run.
    async fn fail<T>(&mut self) -> Result<T> {
        outcome(self.run.take()).await?;
        Err(Error::Closed)
    }
}

/// Waits for the outcome of a run. It is returned once.
async fn outcome(run: Option<oneshot::Receiver<Result<Report>>>) -> Result<Report> {
    match run {
        Some(run) => run.await.unwrap_or(Err(Error::Closed)),
        None => Err(Error::Closed),
    }
}

impl Reader<'_> {
    /// Sends all messages of a stream, batch by batch. Returns `None` if the receiver is gone.
    fn read_stream(&mut self, job: &Job, mut paced: GroupedInput) -> Option<()> {
        let known = self.ledger.source_by_name(&job.input.name).cloned();
        let (mut reading, mut hasher) = match resume(job, known.as_ref(), &mut paced) {
            Ok(resumed) => resumed,
            Err(error) => return self.fail(&job.input.path, error),
        };
        if let Some(known) = &known {
            self.send(Message::Known(Position::from_source(known)))?;
        }
        let beside = Arc::new(LogContext {
            source_id: reading.source_id,
            folder: Folder::default(),
            graphs: None,
        });
        while paced.next_group() {
            let chunks = tsql_formats::lines::Chunks::new(&mut paced, hasher, reading.first_byte);
            let end = self.read_chunks(
                job,
                reading.clone(),
                &beside,
                (chunks, None, ByteCounter::default()),
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

/// Reads past the stored part of the stream. Returns the reason if it is another stream.
fn resume(
    job: &Job,
    known: Option<&Source>,
    paced: &mut GroupedInput,
) -> std::result::Result<(ReadPlan, ContentHasher), String> {
    let new = ReadPlan::for_new_file(job.dialect.dataset(), &job.platform, job.input.name.clone());
    let mut hasher = ContentHasher::new();
    let Some(known) = known else {
        return Ok((new, hasher));
    };
    // Hash without an unfinished last line, and that line.
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
            "but the input has fewer"
        } else {
            "that differ from the beginning of this input"
        };
        return Err(format!(
            "the store has {} lines of it {wrong}\n\
             hint: send the stream again from its beginning, or use another name for a new stream",
            known.last_line
        ));
    }
    let mut reading = ReadPlan {
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
        // The line was unfinished and stored as it was. It is read again to its end.
        reading.first_byte -= line.len() as u64;
        paced.put_back(line);
        hasher = whole_lines;
    }
    Ok((reading, hasher))
}
