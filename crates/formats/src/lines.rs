//! A stream of bytes cut into chunks of whole lines.
//!
//! Memory stays at a chunk and the longest line that a reader takes; of a longer line the pieces
//! are handed on as they come, so that even a gigabyte without a line feed is kept.

use std::collections::VecDeque;
use std::io::Read;

use tsql_codecs::identity::ContentHasher;

/// Bytes of lines handed on together. Large enough to make the hand-over free, small enough that
/// the chunks of a few workers fit the cache beside each other.
const CHUNK_BYTES: usize = 1 << 20;

/// Lines handed on together. Real ones have 300 bytes and more, so only a file of nothing but short
/// ones meets this; each of these may become a refused line, which takes far more memory.
const CHUNK_LINES: usize = 1 << 13;

/// Bytes of a part of a line that is too long.
const PART_BYTES: usize = CHUNK_BYTES;

/// Longest line that is parsed. Real ones end at 6 kB.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// What a [`Chunks`] gives.
#[derive(Debug)]
pub enum Piece {
    /// Whole lines; the last one of the stream may lack its line feed.
    Lines(Vec<u8>),
    /// A part of a line that is longer than [`MAX_LINE_BYTES`], without the line feed.
    Long {
        /// Number of the part, from 0.
        part: i32,
        /// Its bytes.
        text: Vec<u8>,
        /// It is the last part of the line.
        last: bool,
    },
}

/// How far a stream was handed on.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Bytes from the beginning of the file on.
    pub end_byte: u64,
    /// Hash of these bytes.
    pub content_hash: String,
    /// The last line has no line feed.
    pub unterminated: bool,
}

/// Cuts a stream; knows what was in the pieces that it has handed on.
pub struct Chunks<R> {
    input: R,
    held: Vec<u8>,
    /// Lines that are to be handed on before what is held.
    ready: VecDeque<Vec<u8>>,
    /// Part number of the long line that is being handed on.
    long: Option<i32>,
    ended: bool,
    failure: Option<String>,
    hasher: ContentHasher,
    byte_count: u64,
    last_byte: Option<u8>,
}

impl<R: Read> Chunks<R> {
    /// Cuts `input`; `hasher` has seen the `byte_count` bytes of the file before it.
    pub fn new(input: R, hasher: ContentHasher, byte_count: u64) -> Self {
        Self {
            input,
            held: Vec::new(),
            ready: VecDeque::new(),
            long: None,
            ended: false,
            failure: None,
            hasher,
            byte_count,
            last_byte: None,
        }
    }

    /// The next piece, `None` at the end.
    pub fn next_piece(&mut self) -> Option<Piece> {
        loop {
            if let Some(lines) = self.ready.pop_front() {
                return Some(self.lines(lines));
            }
            if let Some(part) = self.long {
                let end = memchr::memchr(b'\n', &self.held);
                let end = end.or(self.ended.then_some(self.held.len()));
                if let Some(end) = end.filter(|&end| end <= PART_BYTES) {
                    return Some(self.long_part(part, end, true));
                }
                if self.held.len() >= PART_BYTES {
                    return Some(self.long_part(part, PART_BYTES, false));
                }
            } else if self.held.len() >= CHUNK_BYTES || self.ended {
                let end = memchr::memrchr(b'\n', &self.held).map(|end| end + 1);
                let end = if self.ended {
                    Some(self.held.len())
                } else {
                    end
                };
                match end {
                    Some(0) => return None,
                    Some(end) if self.longest_is_fine(end) => {
                        let rest = self.held.split_off(end);
                        let lines = std::mem::replace(&mut self.held, rest);
                        return Some(self.lines(lines));
                    }
                    Some(_) => return Some(self.before_long()),
                    None if self.held.len() > MAX_LINE_BYTES => {
                        self.long = Some(0);
                        continue;
                    }
                    None => {}
                }
            }
            self.fill();
        }
    }

    /// Hands on whole lines, not too many at once.
    fn lines(&mut self, mut lines: Vec<u8>) -> Piece {
        let mut ends = memchr::memchr_iter(b'\n', &lines).map(|end| end + 1);
        if let Some(first) = ends.nth(CHUNK_LINES - 1).filter(|&end| end < lines.len()) {
            let mut start = first;
            for end in ends.skip(CHUNK_LINES - 1).step_by(CHUNK_LINES) {
                self.ready.extend(lines.get(start..end).map(<[u8]>::to_vec));
                start = end;
            }
            self.ready.extend(lines.get(start..).map(<[u8]>::to_vec));
            self.ready.retain(|lines| !lines.is_empty());
            lines.truncate(first);
        }
        self.count(&lines);
        Piece::Lines(lines)
    }

    /// These bytes are handed on.
    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.last_byte = bytes.last().copied().or(self.last_byte);
        self.byte_count += bytes.len() as u64;
    }

    /// No line of the first `end` bytes is too long.
    fn longest_is_fine(&self, end: usize) -> bool {
        let lines = self.held.get(..end).unwrap_or(&[]);
        end <= MAX_LINE_BYTES
            || lines
                .split(|&byte| byte == b'\n')
                .all(|line| line.len() <= MAX_LINE_BYTES)
    }

    /// The lines before the first that is too long, or the first part of it.
    fn before_long(&mut self) -> Piece {
        let mut end = 0;
        for line in self.held.split_inclusive(|&byte| byte == b'\n') {
            if line.len() > MAX_LINE_BYTES {
                break;
            }
            end += line.len();
        }
        if end == 0 {
            let end = memchr::memchr(b'\n', &self.held).unwrap_or(self.held.len());
            return self.long_part(0, end.min(PART_BYTES), end <= PART_BYTES);
        }
        let rest = self.held.split_off(end);
        let lines = std::mem::replace(&mut self.held, rest);
        self.lines(lines)
    }

    fn long_part(&mut self, part: i32, end: usize, last: bool) -> Piece {
        let rest = self.held.split_off(end);
        let text = std::mem::replace(&mut self.held, rest);
        self.count(&text);
        if last && self.held.first() == Some(&b'\n') {
            self.held.remove(0);
            self.count(b"\n");
        }
        self.long = (!last).then_some(part + 1);
        Piece::Long { part, text, last }
    }

    fn fill(&mut self) {
        let start = self.held.len();
        self.held.reserve(CHUNK_BYTES);
        let read = self
            .input
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut self.held);
        self.ended = self.held.len() - start < CHUNK_BYTES;
        if let Err(error) = read {
            self.failure = Some(error.to_string());
            self.ended = true;
        }
    }

    /// Why the stream ended before its end: damaged compression, a failing disk. What came before
    /// is among the pieces.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How far the pieces so far go, bytes before the stream included.
    pub fn mark(&self) -> Mark {
        Mark {
            end_byte: self.byte_count,
            content_hash: self.hasher.hex(),
            unterminated: self.last_byte.is_some_and(|byte| byte != b'\n'),
        }
    }

    /// The hasher that has seen all pieces.
    pub fn into_hasher(self) -> ContentHasher {
        self.hasher
    }
}

/// TVM's reader skips lines that begin with `#` or a space; blank ones, of whatever white space, hold nothing.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), None | Some(b'#' | b' ')) || is_blank(line)
}

/// Whether a line holds nothing but white space.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(input: &[u8]) -> Vec<Piece> {
        let mut chunks = Chunks::new(input, ContentHasher::new(), 0);
        std::iter::from_fn(|| chunks.next_piece()).collect()
    }

    /// The stream put together again from its pieces.
    fn joined(pieces: &[Piece]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Lines(lines) => out.extend_from_slice(lines),
                Piece::Long { text, last, .. } => {
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
    fn lines_are_never_cut() {
        let line = [b"x".repeat(1000), b"\n".to_vec()].concat();
        let input = line.repeat(5000);
        let pieces = pieces(&input);
        assert!(pieces.len() > 1);
        assert!(
            pieces
                .iter()
                .all(|piece| matches!(piece, Piece::Lines(lines) if lines.ends_with(b"\n")))
        );
        assert_eq!(joined(&pieces), input);
    }

    #[test]
    fn a_line_without_end_comes_in_parts() {
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
                Piece::Long { part, text, last } => {
                    assert!(text.len() <= PART_BYTES);
                    Some((*part, *last))
                }
                Piece::Lines(_) => None,
            })
            .collect();
        let count = i32::try_from(MAX_LINE_BYTES * 2 / PART_BYTES).unwrap() + 1;
        let expected: Vec<_> = (0..count).map(|part| (part, part == count - 1)).collect();
        assert_eq!(parts, expected);
        assert_eq!(joined(&pieces), input);
    }

    #[test]
    fn short_lines_come_in_small_chunks() {
        let input = b"{}\n".repeat(CHUNK_LINES * 3 + 7);
        let pieces = pieces(&input);
        assert_eq!(pieces.len(), 4);
        for piece in &pieces {
            let Piece::Lines(lines) = piece else { panic!() };
            assert!(memchr::memchr_iter(b'\n', lines).count() <= CHUNK_LINES);
        }
        assert_eq!(joined(&pieces), input);
    }

    #[test]
    fn a_mark_is_of_what_was_handed_on() {
        let input = [
            b"a\n".repeat(CHUNK_LINES + 1),
            b"x".repeat(MAX_LINE_BYTES + 5),
            b"\nb".to_vec(),
        ]
        .concat();
        let mut chunks = Chunks::new(input.as_slice(), ContentHasher::new(), 0);
        let mut given = Vec::new();
        while let Some(piece) = chunks.next_piece() {
            given.push(piece);
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
        assert_eq!(joined(&pieces(b"a")), b"a");
    }
}
