//! What a file is, told by its beginning.
//!
//! A log is a file with a record among its first lines, whatever stands around it: a byte order
//! mark, a comment, garbage. A file without one is no log, however much its lines look like it, so
//! that nothing of what this version cannot read is ever kept as if it had been.

use std::io::{self, Read};

use super::beside::Beside;
use super::lines::{is_blank, is_comment};
use super::looks::{self, Looks};
use super::named::Named;
use super::{DOCUMENTS, Dialect, Documents, autotvm};

/// How much of a file tells most formats.
const FIRST_BYTES: usize = 16 << 10;

/// How much of a file is searched for a record, or for the tags of a benchmark log: other programs
/// may say a lot before the first.
const HEAD_BYTES: usize = 4 << 20;

/// What a file is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A log, line by line.
    Log(Dialect),
    /// Nothing, or nothing but comments: a log to come, which may be of this dialect, if its name says so.
    Blank(Dialect),
    /// A file that is read as a whole.
    Document(&'static dyn Documents),
    /// An archive of files (tar), also a compressed one.
    Archive,
    /// What no reader takes.
    Unknown(Looks),
}

impl Kind {
    /// The same file as what somebody says it is. An archive stays one: what is said is said of its files.
    #[must_use]
    pub fn taken_as(self, format: Option<Named>) -> Self {
        match format {
            None => self,
            Some(_) if matches!(self, Self::Archive) => self,
            Some(Named::Log(dialect)) => Self::Log(dialect),
            Some(Named::Document(format)) => Self::Document(format),
        }
    }
}

/// Where a tar says that it is one.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// The beginning of a stream, of which as much is read as is needed.
pub struct Head<R> {
    stream: R,
    /// What was read.
    pub bytes: Vec<u8>,
    ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Head<R> {
    /// Reads what tells most formats.
    pub fn new(stream: R) -> Self {
        let mut head = Self {
            stream,
            bytes: Vec::new(),
            ended: false,
            failure: None,
        };
        head.fill(FIRST_BYTES);
        head
    }

    /// Reads on until there are so many bytes.
    fn fill(&mut self, bytes: usize) {
        let missing = bytes.saturating_sub(self.bytes.len()) as u64;
        let read = (&mut self.stream)
            .take(missing)
            .read_to_end(&mut self.bytes);
        self.ended = self.bytes.len() < bytes;
        if let Err(error) = read {
            self.failure = Some(error);
            self.ended = true;
        }
    }

    /// Tells what the stream is. What a damaged one was before the damage counts.
    pub fn tell(&mut self) -> io::Result<Kind> {
        if let Some(kind) = self.by_magic() {
            return Ok(kind);
        }
        let mut lines = Lines::default();
        loop {
            let end = if self.ended {
                self.bytes.len()
            } else {
                memchr::memrchr(b'\n', &self.bytes).map_or(0, |end| end + 1)
            };
            if let Some(dialect) = lines.look(&self.bytes, end) {
                return Ok(Kind::Log(dialect));
            }
            if self.ended || self.bytes.len() >= HEAD_BYTES {
                break;
            }
            self.fill((self.bytes.len() * 4).min(HEAD_BYTES));
        }
        let rest = self.bytes.get(lines.seen..).unwrap_or(&[]);
        if let Some(dialect) = Dialect::that_begins(rest) {
            // A first line that is longer than all that is looked at.
            return Ok(Kind::Log(dialect));
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        Ok(if !lines.has_text && rest.is_empty() {
            Kind::Blank(Dialect::TENSET)
        } else if let Some(document) = find(|document| document.is_text(&self.bytes)) {
            Kind::Document(document)
        } else if lines.is_old_autotvm {
            Kind::Unknown(Looks::new(autotvm::OLD))
        } else if let Some((number, dialect, reason)) = lines.refused {
            Kind::Unknown(Looks::new(format!(
                "lines like those of {}, none of which is a record (line {number}: {reason})",
                dialect.described()
            )))
        } else {
            Kind::Unknown(looks::like(&self.bytes))
        })
    }

    fn by_magic(&self) -> Option<Kind> {
        let (at, magic) = TAR_MAGIC;
        let head = self.bytes.as_slice();
        if let Some(document) = find(|document| document.has_magic(head)) {
            Some(Kind::Document(document))
        } else if head.get(at..at + magic.len()) == Some(magic) {
            Some(Kind::Archive)
        } else {
            looks::by_magic(head).map(Kind::Unknown)
        }
    }
}

/// The first of the formats that are read as a whole of which this is true.
fn find(is_it: impl Fn(&dyn Documents) -> bool) -> Option<&'static dyn Documents> {
    DOCUMENTS.into_iter().find(|document| is_it(*document))
}

/// The lines that were looked at.
#[derive(Default)]
struct Lines {
    /// Bytes, and number of lines.
    seen: usize,
    count: u64,
    /// One of them is no comment.
    has_text: bool,
    /// The first that began like a record: its number, and why it is none.
    refused: Option<(u64, Dialect, String)>,
    /// One of the first is a record of AutoTVM's version 0.1, which no dialect reads.
    is_old_autotvm: bool,
}

/// Lines that are looked at as records of AutoTVM's version 0.1: each is parsed once more.
const OLD_LINES: u64 = 256;

impl Lines {
    /// Looks at the lines up to `end`; the dialect of the first record.
    fn look(&mut self, head: &[u8], end: usize) -> Option<Dialect> {
        let new = head.get(self.seen..end).unwrap_or(&[]);
        self.seen = self.seen.max(end);
        for line in new.split_inclusive(|&byte| byte == b'\n') {
            self.count += 1;
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if is_blank(line) || line.starts_with(b"#") {
                continue;
            }
            self.has_text = true;
            if is_comment(line) {
                continue;
            }
            if self.count <= OLD_LINES && autotvm::is_old_record(line) {
                self.is_old_autotvm = true;
                continue;
            }
            let Some(dialect) = Dialect::that_begins(line) else {
                continue;
            };
            let rows = dialect.parse(line, false, &Beside::default());
            if !rows.records.is_empty() {
                return Some(dialect);
            }
            let reason = rows.others.into_iter().find_map(|other| other.reason);
            if let (None, Some(reason)) = (&self.refused, reason) {
                self.refused = Some((self.count, dialect, reason));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"i": [["[\"mm\", 8]", "llvm", [8, 64], "", 1, []], [[], [["CI", 1]]]], "r": [[0.5], 0, 3.25, 1697658022], "v": "v0.6"}"#;
    const MEASURED: &str = r#"{"workload_key": ["mm", 8], "steps": {"T": 1}, "repeats_ns": [1]}"#;

    fn dialect(bytes: impl Read) -> Dialect {
        match Head::new(bytes).tell().unwrap() {
            Kind::Log(dialect) => dialect,
            other => panic!("{other:?}"),
        }
    }

    fn looks(bytes: &[u8]) -> String {
        match Head::new(bytes).tell().unwrap() {
            Kind::Unknown(looks) => looks.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_record_among_the_first_lines_makes_a_log() {
        let tenset = Dialect::TENSET;
        for before in ["", "\u{feff}", "# c\n\n", "{}\n", "garbage\n\0\n", "  x\n"] {
            assert_eq!(dialect(format!("{before}{RECORD}\n").as_bytes()), tenset);
        }
        let much = "what a child process says\n".repeat(100_000);
        assert_eq!(dialect(format!("{much}{RECORD}").as_bytes()), tenset);
        let measured = format!("{MEASURED}\n{RECORD}\n");
        assert_eq!(dialect(measured.as_bytes()), Dialect::MEASURED);
        let long = format!("{}{}", &RECORD[..60], "9, ".repeat(3 << 20));
        assert_eq!(dialect(long.as_bytes()), tenset, "its line is still open");
    }

    #[test]
    fn nothing_but_comments_is_a_log_by_its_name_only() {
        for text in ["", "# only\n# comments", "\n\r\n#\n"] {
            let kind = Head::new(text.as_bytes()).tell().unwrap();
            assert!(matches!(kind, Kind::Blank(_)), "{text:?}: {kind:?}");
        }
        for name in ["a.json", "p/a.json.gz", "a.b.json.zst", "tune.log"] {
            assert!(Dialect::TENSET.is_named_like(name), "{name}");
        }
        for name in ["__init__.py", "README.md", "json", "a.json.py", "a.gz"] {
            assert!(!Dialect::TENSET.is_named_like(name), "{name}");
        }
    }

    #[test]
    fn what_has_no_record_is_told_by_its_looks() {
        let newer = RECORD.replace("v0.6", "v0.9");
        assert_eq!(
            looks(newer.as_bytes()),
            "lines like those of an auto_scheduler log, none of which is a record \
             (line 1: version `v0.9` is not known: v0.2 to v0.6 are)"
        );
        assert_eq!(looks(b"# a title\n\nwords\n"), "text");
        assert_eq!(looks(&[0, 1, 2, 3, 255, 7]), "binary data");
    }

    #[test]
    fn damage_before_any_record_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("damaged"))
            }
        }
        assert!(
            Head::new(b"text\n".as_slice().chain(Broken))
                .tell()
                .is_err()
        );
        let record = format!("{RECORD}\n");
        let damaged = record.as_bytes().chain(Broken);
        assert_eq!(dialect(damaged), Dialect::TENSET);
    }
}
