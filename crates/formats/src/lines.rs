//! Splits a byte stream into chunks of complete lines.
//!
//! Memory is bounded by a chunk and the longest accepted line. Longer lines are passed on in parts, so that even a
//! gigabyte without a line feed is stored.

use std::collections::VecDeque;
use std::io::Read;

use tsql_codecs::identity::ContentHasher;

/// Target size of a chunk in bytes. It is large enough to make the transfer to a worker cheap, and small enough that
/// the chunks of a few workers fit the cache together.
const CHUNK_BYTES: usize = 1 << 20;

/// Maximum number of lines per chunk. Real lines have at least 300 bytes, so only files of very short lines reach this
/// limit. Each of these may become a rejected line, which takes far more memory.
const CHUNK_LINES: usize = 1 << 13;

/// Size of a part of an overlong line in bytes.
const PART_BYTES: usize = CHUNK_BYTES;

/// Length of the longest line that is parsed. Real lines have at most 6 kB.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// Item of [`Chunks`].
#[derive(Debug)]
pub enum LineChunk {
    /// Complete lines; the last line of the stream may lack its line feed.
    Lines(Vec<u8>),
    /// Part of a line that is longer than [`MAX_LINE_BYTES`], without the line feed.
    Long {
        /// Number of the part, from 0.
        part: i32,
        /// Content.
        text: Vec<u8>,
        /// Whether it is the last part of the line.
        last: bool,
    },
}

/// Position in a stream after the chunks returned so far.
#[derive(Clone, Debug)]
pub struct StreamPosition {
    /// Offset in the file in bytes.
    pub end_byte: u64,
    /// Hash of the bytes before the offset.
    pub content_hash: String,
    /// Whether the last line has no line feed.
    pub unterminated: bool,
}

/// Splits a stream and hashes the chunks that it has returned.
pub struct Chunks<R> {
    input: R,
    buffer: Vec<u8>,
    /// Lines to return before `held`.
    ready: VecDeque<Vec<u8>>,
    /// Part number of the overlong line that is being returned.
    long: Option<i32>,
    is_at_end: bool,
    failure: Option<String>,
    hasher: ContentHasher,
    byte_count: u64,
    last_byte: Option<u8>,
}

impl<R: Read> Chunks<R> {
    /// Splits `input`; `hasher` has processed the preceding `byte_count` bytes of the file.
    pub fn new(input: R, hasher: ContentHasher, byte_count: u64) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            ready: VecDeque::new(),
            long: None,
            is_at_end: false,
            failure: None,
            hasher,
            byte_count,
            last_byte: None,
        }
    }

    /// Returns the next chunk; `None` at the end.
    pub fn next_chunk(&mut self) -> Option<LineChunk> {
        loop {
            if let Some(lines) = self.ready.pop_front() {
                return Some(self.lines(lines));
            }
            if let Some(part) = self.long {
                let end = memchr::memchr(b'\n', &self.buffer);
                let end = end.or(self.is_at_end.then_some(self.buffer.len()));
                if let Some(end) = end.filter(|&end| end <= PART_BYTES) {
                    return Some(self.long_part(part, end, true));
                }
                if self.buffer.len() >= PART_BYTES {
                    return Some(self.long_part(part, PART_BYTES, false));
                }
            } else if self.buffer.len() >= CHUNK_BYTES || self.is_at_end {
                let end = memchr::memrchr(b'\n', &self.buffer).map(|end| end + 1);
                let end = if self.is_at_end {
                    Some(self.buffer.len())
                } else {
                    end
                };
                match end {
                    Some(0) => return None,
                    Some(end) if self.all_lines_fit(end) => {
                        let rest = self.buffer.split_off(end);
                        let lines = std::mem::replace(&mut self.buffer, rest);
                        return Some(self.lines(lines));
                    }
                    Some(_) => return Some(self.before_long()),
                    None if self.buffer.len() > MAX_LINE_BYTES => {
                        self.long = Some(0);
                        continue;
                    }
                    None => {}
                }
            }
            self.fill();
        }
    }

    /// Returns complete lines, and queues them in several chunks if there are too many.
    fn lines(&mut self, mut lines: Vec<u8>) -> LineChunk {
        let mut line_ends = memchr::memchr_iter(b'\n', &lines).map(|end| end + 1);
        if let Some(first) = line_ends
            .nth(CHUNK_LINES - 1)
            .filter(|&end| end < lines.len())
        {
            let mut start = first;
            for end in line_ends.skip(CHUNK_LINES - 1).step_by(CHUNK_LINES) {
                self.ready.extend(lines.get(start..end).map(<[u8]>::to_vec));
                start = end;
            }
            self.ready.extend(lines.get(start..).map(<[u8]>::to_vec));
            self.ready.retain(|lines| !lines.is_empty());
            lines.truncate(first);
        }
        self.hash_bytes(&lines);
        LineChunk::Lines(lines)
    }

    /// Updates hash and position for bytes that are returned.
    fn hash_bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.last_byte = bytes.last().copied().or(self.last_byte);
        self.byte_count += bytes.len() as u64;
    }

    /// Whether no line of the first `end` bytes is too long.
    fn all_lines_fit(&self, end: usize) -> bool {
        let lines = self.buffer.get(..end).unwrap_or(&[]);
        end <= MAX_LINE_BYTES
            || lines
                .split(|&byte| byte == b'\n')
                .all(|line| line.len() <= MAX_LINE_BYTES)
    }

    /// Returns the lines before the first overlong line, or the first part of that line.
    fn before_long(&mut self) -> LineChunk {
        let mut end = 0;
        for line in self.buffer.split_inclusive(|&byte| byte == b'\n') {
            if line.len() > MAX_LINE_BYTES {
                break;
            }
            end += line.len();
        }
        if end == 0 {
            let end = memchr::memchr(b'\n', &self.buffer).unwrap_or(self.buffer.len());
            return self.long_part(0, end.min(PART_BYTES), end <= PART_BYTES);
        }
        let rest = self.buffer.split_off(end);
        let lines = std::mem::replace(&mut self.buffer, rest);
        self.lines(lines)
    }

    fn long_part(&mut self, part: i32, end: usize, last: bool) -> LineChunk {
        let rest = self.buffer.split_off(end);
        let text = std::mem::replace(&mut self.buffer, rest);
        self.hash_bytes(&text);
        if last && self.buffer.first() == Some(&b'\n') {
            self.buffer.remove(0);
            self.hash_bytes(b"\n");
        }
        self.long = (!last).then_some(part + 1);
        LineChunk::Long { part, text, last }
    }

    fn fill(&mut self) {
        let start = self.buffer.len();
        self.buffer.reserve(CHUNK_BYTES);
        let result = self
            .input
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut self.buffer);
        self.is_at_end = self.buffer.len() - start < CHUNK_BYTES;
        if let Err(error) = result {
            self.failure = Some(error.to_string());
            self.is_at_end = true;
        }
    }

    /// Reason why the stream ended early: damaged compression or an I/O error. Data before the failure was returned.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Position after the chunks so far, including the bytes before the stream.
    pub fn mark(&self) -> StreamPosition {
        StreamPosition {
            end_byte: self.byte_count,
            content_hash: self.hasher.hex(),
            unterminated: self.last_byte.is_some_and(|byte| byte != b'\n'),
        }
    }

    /// Returns the hasher, which has processed all chunks.
    pub fn into_hasher(self) -> ContentHasher {
        self.hasher
    }
}

/// Whether a line is a comment. TVM's reader skips lines that start with `#` or a space. Blank lines of any white space
/// count, too.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), None | Some(b'#' | b' ')) || is_blank(line)
}

/// Whether a line contains only white space.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(input: &[u8]) -> Vec<LineChunk> {
        let mut chunks = Chunks::new(input, ContentHasher::new(), 0);
        std::iter::from_fn(|| chunks.next_chunk()).collect()
    }

    /// Reassembles the stream from its chunks.
    fn join_pieces(pieces: &[LineChunk]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                LineChunk::Lines(lines) => out.extend_from_slice(lines),
                LineChunk::Long { text, last, .. } => {
                    out.extend_from_slice(text);
                    if *last {
                        out.push(b'\n');
                    }
                }
            }
        }
        out
    }

    #[test]
    fn lines_are_never_split() {
        let line = [b"x".repeat(1000), b"\n".to_vec()].concat();
        let input = line.repeat(5000);
        let pieces = pieces(&input);
        assert!(pieces.len() > 1);
        assert!(
            pieces
                .iter()
                .all(|piece| matches!(piece, LineChunk::Lines(lines) if lines.ends_with(b"\n")))
        );
        assert_eq!(join_pieces(&pieces), input);
    }

    #[test]
    fn an_overlong_line_is_returned_in_parts() {
        let input = [
            b"a\n".to_vec(),
            b"x".repeat(MAX_LINE_BYTES * 2 + 5),
            b"\nb\n".to_vec(),
        ]
        .concat();
        let pieces = pieces(&input);
        let parts: Vec<_> = pieces
            .iter()
            .filter_map(|piece| match piece {
                LineChunk::Long { part, text, last } => {
                    assert!(text.len() <= PART_BYTES);
                    Some((*part, *last))
                }
                LineChunk::Lines(_) => None,
            })
            .collect();
        let count = i32::try_from(MAX_LINE_BYTES * 2 / PART_BYTES).unwrap() + 1;
        let expected: Vec<_> = (0..count).map(|part| (part, part == count - 1)).collect();
        assert_eq!(parts, expected);
        assert_eq!(join_pieces(&pieces), input);
    }

    #[test]
    fn short_lines_come_in_small_chunks() {
        let input = b"{}\n".repeat(CHUNK_LINES * 3 + 7);
        let pieces = pieces(&input);
        assert_eq!(pieces.len(), 4);
        for piece in &pieces {
            let LineChunk::Lines(lines) = piece else {
                panic!()
            };
            assert!(memchr::memchr_iter(b'\n', lines).count() <= CHUNK_LINES);
        }
        assert_eq!(join_pieces(&pieces), input);
    }

    #[test]
    fn a_position_describes_the_returned_chunks() {
        let input = [
            b"a\n".repeat(CHUNK_LINES + 1),
            b"x".repeat(MAX_LINE_BYTES + 5),
            b"\nb".to_vec(),
        ]
        .concat();
        let mut chunks = Chunks::new(input.as_slice(), ContentHasher::new(), 0);
        let mut returned = Vec::new();
        while let Some(piece) = chunks.next_chunk() {
            returned.push(piece);
            let mark = chunks.mark();
            let end = usize::try_from(mark.end_byte).unwrap();
            let mut hasher = ContentHasher::new();
            hasher.update(&input[..end]);
            assert_eq!(mark.content_hash, hasher.hex());
            assert_eq!(mark.unterminated, input[end - 1] != b'\n');
        }
        assert_eq!(chunks.mark().end_byte, input.len() as u64);
    }

    #[test]
    fn an_empty_stream_has_no_pieces() {
        assert!(pieces(b"").is_empty());
        assert_eq!(join_pieces(&pieces(b"a")), b"a");
    }
}
