//! A stream of bytes cut into chunks of whole lines.
//!
//! Memory stays at a chunk and the longest line that a reader takes; of a longer line the pieces
//! are handed on as they come, so that even a gigabyte without a line feed is kept.

use std::io::Read;

use crate::identity::ContentHasher;

/// Bytes of lines handed on together. Large enough to make the hand-over free, small enough that
/// the chunks of a few workers fit the cache beside each other.
const CHUNK_BYTES: usize = 1 << 20;

/// Longest line that is parsed. Real ones end at 6 kB.
pub(crate) const MAX_LINE_BYTES: usize = 16 << 20;

/// What a [`Chunks`] gives.
#[derive(Debug)]
pub(crate) enum Piece {
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

/// Cuts a stream; knows at its end what was in it.
pub(crate) struct Chunks<R> {
    input: R,
    held: Vec<u8>,
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
    pub(crate) fn new(input: R, hasher: ContentHasher, byte_count: u64) -> Self {
        Self {
            input,
            held: Vec::new(),
            long: None,
            ended: false,
            failure: None,
            hasher,
            byte_count,
            last_byte: None,
        }
    }

    /// The next piece, `None` at the end.
    pub(crate) fn next_piece(&mut self) -> Option<Piece> {
        loop {
            if let Some(part) = self.long {
                let end = memchr::memchr(b'\n', &self.held);
                let end = end.or(self.ended.then_some(self.held.len()));
                if let Some(end) = end.filter(|&end| end <= MAX_LINE_BYTES) {
                    return Some(self.long_part(part, end, true));
                }
                if self.held.len() >= MAX_LINE_BYTES {
                    return Some(self.long_part(part, MAX_LINE_BYTES, false));
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
                        return Some(Piece::Lines(lines));
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
            return self.long_part(0, end.min(MAX_LINE_BYTES), end <= MAX_LINE_BYTES);
        }
        let rest = self.held.split_off(end);
        Piece::Lines(std::mem::replace(&mut self.held, rest))
    }

    fn long_part(&mut self, part: i32, end: usize, last: bool) -> Piece {
        let mut rest = self.held.split_off(end);
        if last && rest.first() == Some(&b'\n') {
            rest.remove(0);
        }
        let text = std::mem::replace(&mut self.held, rest);
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
        let new = self.held.get(start..).unwrap_or(&[]);
        self.hasher.update(new);
        self.last_byte = new.last().copied().or(self.last_byte);
        self.byte_count += new.len() as u64;
        self.ended = new.len() < CHUNK_BYTES;
        if let Err(error) = read {
            self.failure = Some(error.to_string());
            self.ended = true;
        }
    }

    /// Why the stream ended before its end: damaged compression, a failing disk. What came before
    /// is among the pieces.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Bytes read so far, those before the stream included.
    pub(crate) fn byte_count(&self) -> u64 {
        self.byte_count
    }

    /// Hash of these bytes.
    pub(crate) fn content_hash(&self) -> String {
        self.hasher.hex()
    }

    /// The hasher that has seen them.
    pub(crate) fn into_hasher(self) -> ContentHasher {
        self.hasher
    }

    /// The last line has no line feed.
    pub(crate) fn unterminated(&self) -> bool {
        self.last_byte.is_some_and(|byte| byte != b'\n')
    }
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
                Piece::Long { part, last, .. } => Some((*part, *last)),
                Piece::Lines(_) => None,
            })
            .collect();
        assert_eq!(parts, [(0, false), (1, false), (2, true)]);
        assert_eq!(joined(&pieces), input);
    }

    #[test]
    fn an_empty_stream_has_no_pieces() {
        assert!(pieces(b"").is_empty());
        assert_eq!(joined(&pieces(b"a")), b"a");
    }
}
