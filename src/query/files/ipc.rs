//! Arrow files: their structure, checked before anything in them is believed.
//!
//! Lengths in a file say how much memory its reader takes. Here each of them is compared with the size of the file, before a
//! reader sees it.

use arrow::ipc::{Block, Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};

/// What a file begins and ends with that has an index at its end; others are streams.
const MAGIC: &[u8] = b"ARROW1";

/// Bytes at the end of a file behind its index: the length of that, and [`MAGIC`].
const END_BYTES: u64 = 10;

/// What a message of a stream begins with, if it is not of the oldest format.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Most rows of a batch.
const MAX_ROWS: i64 = 1 << 31;

/// How many times larger than its compressed form a buffer may be, and bytes that it may always have.
const MAX_INFLATION: i64 = 1 << 16;

/// Why a file is none.
type Checked<T = ()> = Result<T, String>;

/// Checks the structure of a file.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn checked(
    objects: &dyn ObjectStore,
    file: &ObjectMeta,
    is_near: bool,
) -> Checked {
    let reader = Reader {
        objects,
        file,
        is_near,
    };
    if reader.size() < 8 {
        return Err(format!("{} bytes are no Arrow file", reader.size()));
    }
    let magic = reader.bytes(0, MAGIC.len() as u64).await?;
    match magic == MAGIC {
        true => reader.indexed().await,
        false => reader.streamed().await,
    }
}

struct Reader<'a> {
    objects: &'a dyn ObjectStore,
    file: &'a ObjectMeta,
    /// Is it on a disk, where looking at each batch costs little?
    is_near: bool,
}

impl Reader<'_> {
    fn size(&self) -> u64 {
        self.file.size
    }

    /// The bytes at a place, which must be in the file.
    async fn bytes(&self, begin: u64, length: u64) -> Checked<bytes::Bytes> {
        let end = self.within(begin, length)?;
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

    /// Where so many bytes end.
    fn within(&self, begin: u64, length: u64) -> Checked<u64> {
        let end = begin.checked_add(length).filter(|end| *end <= self.size());
        end.ok_or_else(|| {
            format!(
                "is damaged: {length} bytes at {begin}, but the file has {}",
                self.size()
            )
        })
    }

    /// A file with an index of its batches.
    async fn indexed(&self) -> Checked {
        let end = self.size().checked_sub(END_BYTES);
        let end = end.ok_or("is cut off: its index is missing")?;
        let tail = self.bytes(end, END_BYTES).await?;
        let (length, magic) = tail.split_at(4);
        if magic != MAGIC {
            return Err("is cut off: its index is missing".to_owned());
        }
        let length = unsigned(i64::from(number(length)))?;
        let begin = end.checked_sub(length);
        let begin = begin.ok_or("is damaged: its index is longer than the file")?;
        let footer = self.bytes(begin, length).await?;
        let footer = root_as_footer(&footer).map_err(|error| damaged(&error))?;
        let blocks = footer.dictionaries().into_iter().flatten();
        let blocks = blocks.chain(footer.recordBatches().into_iter().flatten());
        let blocks: Vec<Block> = blocks.copied().collect();
        for block in blocks {
            let begin = unsigned(block.offset())?;
            let metadata = unsigned(i64::from(block.metaDataLength()))?;
            let body = self.within(begin, metadata)?;
            self.within(body, unsigned(block.bodyLength())?)?;
            if !self.is_near {
                continue;
            }
            let bytes = self.bytes(begin, metadata).await?;
            let skipped = match bytes.starts_with(&CONTINUATION) {
                true => 8,
                false => 4,
            };
            let message = bytes.get(skipped..).unwrap_or_default();
            self.message(message, body, block.bodyLength()).await?;
        }
        Ok(())
    }

    /// Messages one behind the other.
    async fn streamed(&self) -> Checked {
        let mut place = 0;
        while place < self.size() {
            let mut head = self.bytes(place, 4).await?;
            place += 4;
            if head == CONTINUATION[..] {
                head = self.bytes(place, 4).await?;
                place += 4;
            }
            let length = unsigned(i64::from(number(&head)))?;
            if length == 0 {
                break;
            }
            let metadata = self.bytes(place, length).await?;
            place += length;
            let body = root_as_message(&metadata).map_err(|error| damaged(&error))?;
            let body_length = body.bodyLength();
            self.message(&metadata, place, body_length).await?;
            place = self.within(place, unsigned(body_length)?)?;
            if !self.is_near {
                break;
            }
        }
        Ok(())
    }

    /// A message whose body begins at a place.
    async fn message(&self, bytes: &[u8], body: u64, body_length: i64) -> Checked {
        let message: Message<'_> = root_as_message(bytes).map_err(|error| damaged(&error))?;
        let (header, dictionary) = (
            message.header_as_record_batch(),
            message.header_as_dictionary_batch(),
        );
        let batch = header.or_else(|| dictionary.and_then(|dictionary| dictionary.data()));
        match (message.header_type(), batch) {
            (MessageHeader::RecordBatch | MessageHeader::DictionaryBatch, Some(batch)) => {
                self.batch(&batch, body, body_length).await
            }
            (MessageHeader::Schema, _) => Ok(()),
            (other, _) => Err(format!("is damaged: a message of {other:?} is no batch")),
        }
    }

    async fn batch(&self, batch: &RecordBatch<'_>, body: u64, body_length: i64) -> Checked {
        let rows = |length: i64| {
            let is_sound = (0..=MAX_ROWS).contains(&length);
            is_sound.then_some(()).ok_or_else(|| {
                format!("is damaged: a batch of {length} rows, at most {MAX_ROWS} are read")
            })
        };
        rows(batch.length())?;
        for node in batch.nodes().into_iter().flatten() {
            rows(node.length())?;
            if !(0..=node.length()).contains(&node.null_count()) {
                return Err("is damaged: more values are NULL than there are".to_owned());
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
                return Err("is damaged: a column lies outside of its batch".to_owned());
            }
            if is_compressed && length >= 8 {
                let begin = body.saturating_add(unsigned(offset)?);
                let head = self.bytes(begin, 8).await?;
                let claimed = head
                    .first_chunk()
                    .map_or(0, |head| i64::from_le_bytes(*head));
                let most = length.saturating_add(16).saturating_mul(MAX_INFLATION);
                if claimed > most || claimed < -1 {
                    return Err(format!(
                        "is damaged: {length} compressed bytes cannot be {claimed}"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> i32 {
    bytes
        .first_chunk()
        .map_or(0, |head| i32::from_le_bytes(*head))
}

fn unsigned(length: i64) -> Checked<u64> {
    u64::try_from(length).map_err(|_| format!("is damaged: a length of {length} bytes"))
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    format!("is damaged: {}", text.lines().next().unwrap_or_default())
}
