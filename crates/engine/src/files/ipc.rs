//! Validation of the structure of Arrow IPC files.
//!
//! A reader allocates as much memory as the lengths in a file demand. Each length is therefore compared with the size
//! of the file before a reader sees it.

use arrow::ipc::reader::FileReader;
use arrow::ipc::{Block, Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt as _,
};

/// Magic bytes at both ends of a file with a footer. Other files are streams.
const MAGIC: &[u8] = b"ARROW1";

/// Bytes after the footer: its length and the [`MAGIC`].
const TRAILER_BYTES: u64 = 10;

/// First bytes of a stream message, except in the oldest format.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Maximum number of rows of a batch.
const MAX_ROWS: i64 = 1 << 31;

/// Maximum ratio of the uncompressed to the compressed size of a buffer, and number of bytes that are always allowed.
const MAX_INFLATION: i64 = 1 << 16;

/// Result of a check, with the reason if the file is invalid.
type CheckResult<T = ()> = Result<T, String>;

/// Checks the structure of a file.
///
/// # Errors
/// The reason why the file is invalid.
pub(super) async fn check_file(
    objects: &dyn ObjectStore,
    file: &ObjectMeta,
    is_near: bool,
) -> CheckResult {
    let reader = Reader {
        objects,
        file,
        is_near,
    };
    if reader.size() < 8 {
        return Err(format!("{} bytes are not an Arrow file", reader.size()));
    }
    let magic = reader.read_range(0, MAGIC.len() as u64).await?;
    match magic == MAGIC {
        true => reader.check_indexed().await,
        false => reader.check_stream().await,
    }
}

struct Reader<'a> {
    objects: &'a dyn ObjectStore,
    file: &'a ObjectMeta,
    /// Whether the file is local, so that reading each batch header is cheap.
    is_near: bool,
}

impl Reader<'_> {
    fn size(&self) -> u64 {
        self.file.size
    }

    /// Reads a byte range, which must be inside of the file.
    async fn read_range(&self, begin: u64, length: u64) -> CheckResult<bytes::Bytes> {
        let end = self.end_of_range(begin, length)?;
        if begin == end {
            return Ok(bytes::Bytes::new());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(begin..end)),
            ..GetOptions::default()
        };
        let read = self.objects.get_opts(&self.file.location, options).await;
        let read = read.map_err(|error| error.to_string())?;
        read.bytes().await.map_err(|error| error.to_string())
    }

    /// End offset of a byte range, which must be inside of the file.
    fn end_of_range(&self, begin: u64, length: u64) -> CheckResult<u64> {
        let end = begin.checked_add(length).filter(|end| *end <= self.size());
        end.ok_or_else(|| {
            format!(
                "it is damaged: {length} bytes at {begin}, but the file has {}",
                self.size()
            )
        })
    }

    /// Checks a file with a footer that lists its batches.
    async fn check_indexed(&self) -> CheckResult {
        let end = self.size().checked_sub(TRAILER_BYTES);
        let end = end.ok_or("it is truncated: its footer is missing")?;
        let tail = self.read_range(end, TRAILER_BYTES).await?;
        let (length, magic) = tail.split_at(4);
        if magic != MAGIC {
            return Err("it is truncated: its footer is missing".to_owned());
        }
        let length = to_u64(i64::from(read_i32(length)))?;
        let begin = end.checked_sub(length);
        let begin = begin.ok_or("it is damaged: its footer is longer than the file")?;
        let footer = self.read_range(begin, length).await?;
        let footer = root_as_footer(&footer).map_err(|error| invalid_file(&error))?;
        let blocks = footer.dictionaries().into_iter().flatten();
        let blocks = blocks.chain(footer.recordBatches().into_iter().flatten());
        let blocks: Vec<Block> = blocks.copied().collect();
        for block in blocks {
            let begin = to_u64(block.offset())?;
            let metadata = to_u64(i64::from(block.metaDataLength()))?;
            let body = self.end_of_range(begin, metadata)?;
            self.end_of_range(body, to_u64(block.bodyLength())?)?;
            if !self.is_near {
                continue;
            }
            let bytes = self.read_range(begin, metadata).await?;
            let skipped = match bytes.starts_with(&CONTINUATION) {
                true => 8,
                false => 4,
            };
            let message = bytes.get(skipped..).unwrap_or_default();
            self.message(message, body, block.bodyLength()).await?;
        }
        self.open_local().await
    }

    /// Opens a local file as DataFusion does. Otherwise it reads a file that this reader rejects as a stream, with the
    /// magic bytes as a length of 1.4 GB (`ArrowFormat::infer_schema`).
    async fn open_local(&self) -> CheckResult {
        let read = self.objects.get(&self.file.location).await;
        let read = read.map_err(|error| error.to_string())?;
        let GetResultPayload::File(file, _) = read.payload else {
            return Ok(());
        };
        let opened = FileReader::try_new(file, None);
        opened
            .map(|_| ())
            .map_err(|error| format!("it is damaged: {error}"))
    }

    /// Checks a stream, whose messages follow one another.
    async fn check_stream(&self) -> CheckResult {
        let mut place = 0;
        while place < self.size() {
            let mut head = self.read_range(place, 4).await?;
            place += 4;
            if head == CONTINUATION[..] {
                head = self.read_range(place, 4).await?;
                place += 4;
            }
            let length = to_u64(i64::from(read_i32(&head)))?;
            if length == 0 {
                break;
            }
            let metadata = self.read_range(place, length).await?;
            place += length;
            let body = root_as_message(&metadata).map_err(|error| invalid_file(&error))?;
            let body_length = body.bodyLength();
            self.message(&metadata, place, body_length).await?;
            place = self.end_of_range(place, to_u64(body_length)?)?;
            if !self.is_near {
                break;
            }
        }
        Ok(())
    }

    /// Checks a message whose body begins at the offset `body`.
    async fn message(&self, bytes: &[u8], body: u64, body_length: i64) -> CheckResult {
        let message: Message<'_> = root_as_message(bytes).map_err(|error| invalid_file(&error))?;
        let (header, dictionary) = (
            message.header_as_record_batch(),
            message.header_as_dictionary_batch(),
        );
        let batch = header.or_else(|| dictionary.and_then(|dictionary| dictionary.data()));
        match (message.header_type(), batch) {
            (MessageHeader::RecordBatch | MessageHeader::DictionaryBatch, Some(batch)) => {
                self.check_batch(&batch, body, body_length).await
            }
            (MessageHeader::Schema, _) => Ok(()),
            (other, _) => Err(format!(
                "it is damaged: expected a batch, found a message of {other:?}"
            )),
        }
    }

    async fn check_batch(
        &self,
        batch: &RecordBatch<'_>,
        body: u64,
        body_length: i64,
    ) -> CheckResult {
        let rows = |length: i64| {
            let is_sound = (0..=MAX_ROWS).contains(&length);
            is_sound.then_some(()).ok_or_else(|| {
                format!("it is damaged: a batch of {length} rows, expected at most {MAX_ROWS}")
            })
        };
        rows(batch.length())?;
        for node in batch.nodes().into_iter().flatten() {
            rows(node.length())?;
            if !(0..=node.length()).contains(&node.null_count()) {
                return Err("it is damaged: a column has more NULLs than values".to_owned());
            }
        }
        let buffers: Vec<(i64, i64)> = batch
            .buffers()
            .into_iter()
            .flatten()
            .map(|buffer| (buffer.offset(), buffer.length()))
            .collect();
        let is_compressed = batch.compression().is_some();
        for (offset, length) in buffers {
            let end = offset.checked_add(length);
            let is_within = offset >= 0 && length >= 0;
            if !is_within || end.is_none_or(|end| end > body_length) {
                return Err("it is damaged: a column is outside of its batch".to_owned());
            }
            if is_compressed && length >= 8 {
                let begin = body.saturating_add(to_u64(offset)?);
                let head = self.read_range(begin, 8).await?;
                let claimed = head
                    .first_chunk()
                    .map_or(0, |head| i64::from_le_bytes(*head));
                let most = length.saturating_add(16).saturating_mul(MAX_INFLATION);
                if claimed > most || claimed < -1 {
                    return Err(format!(
                        "it is damaged: {length} compressed bytes cannot expand to {claimed} bytes"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn read_i32(bytes: &[u8]) -> i32 {
    bytes
        .first_chunk()
        .map_or(0, |head| i32::from_le_bytes(*head))
}

fn to_u64(length: i64) -> CheckResult<u64> {
    u64::try_from(length).map_err(|_| format!("it is damaged: a length of {length} bytes"))
}

fn invalid_file(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    format!("it is damaged: {}", text.lines().next().unwrap_or_default())
}
