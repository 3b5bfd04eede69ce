//! Detects the format of a file from its first bytes.
//!
//! A log is a file with a record among its first lines, regardless of other content such as a byte order mark, comments
//! or garbage. A file without a record is not a log, even if its lines look similar. So unreadable data is never
//! ingested as a log.

use std::io::{self, Read};

use super::autotuners::TunerContent;
use super::file_description::{self, FileDescription};
use super::lines::{is_blank, is_comment};
use super::log_context::LogContext;
use super::named_format::NamedFormat;
use super::{DOCUMENTS, Dialect, DocumentFormat, autotuners, autotvm};

/// Bytes that suffice to detect most formats.
const FIRST_BYTES: usize = 16 << 10;

/// Bytes that are searched for a record or for the tags of a benchmark log. Other programs may print a lot before the
/// first one.
const HEAD_BYTES: usize = 4 << 20;

/// Detected format of a file.
#[derive(Clone, Debug)]
pub enum DetectedFormat {
    /// Log, read line by line.
    Log(Dialect),
    /// Empty, or only comments: a future log. It has this dialect if its file name matches.
    Blank(Dialect),
    /// File that is read as a whole.
    Document(&'static dyn DocumentFormat),
    /// Archive of files (tar), also compressed.
    Archive,
    /// File that no reader supports.
    Unknown(FileDescription),
}

impl DetectedFormat {
    /// Applies a format given by the user. An archive stays an archive; the format applies to its members.
    #[must_use]
    pub fn with_format(self, format: Option<NamedFormat>) -> Self {
        match format {
            None => self,
            Some(_) if matches!(self, Self::Archive) => self,
            Some(NamedFormat::Log(dialect)) => Self::Log(dialect),
            Some(NamedFormat::Document(format)) => Self::Document(format),
        }
    }
}

/// Offset and value of the magic bytes of tar.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Start of a stream, read as far as needed.
pub struct Head<R> {
    stream: R,
    /// Bytes read so far.
    pub bytes: Vec<u8>,
    is_at_end: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Head<R> {
    /// Reads enough bytes to detect most formats.
    pub fn new(stream: R) -> Self {
        let mut head = Self {
            stream,
            bytes: Vec::new(),
            is_at_end: false,
            failure: None,
        };
        head.fill(FIRST_BYTES);
        head
    }

    /// Reads until `bytes` bytes are available.
    fn fill(&mut self, bytes: usize) {
        let missing = bytes.saturating_sub(self.bytes.len()) as u64;
        let result = (&mut self.stream)
            .take(missing)
            .read_to_end(&mut self.bytes);
        self.is_at_end = self.bytes.len() < bytes;
        if let Err(error) = result {
            self.failure = Some(error);
            self.is_at_end = true;
        }
    }

    /// Detects the format. For a damaged stream, the part before the damage counts.
    pub fn detect(&mut self) -> io::Result<DetectedFormat> {
        if let Some(kind) = self.detect_by_magic() {
            return Ok(kind);
        }
        let mut lines = ScannedLines::default();
        loop {
            let end = if self.is_at_end {
                self.bytes.len()
            } else {
                memchr::memrchr(b'\n', &self.bytes).map_or(0, |end| end + 1)
            };
            if let Some(dialect) = lines.scan(&self.bytes, end) {
                return Ok(DetectedFormat::Log(dialect));
            }
            if self.is_at_end || self.bytes.len() >= HEAD_BYTES {
                break;
            }
            self.fill((self.bytes.len() * 4).min(HEAD_BYTES));
        }
        let rest = self.bytes.get(lines.scanned_bytes..).unwrap_or(&[]);
        if let Some(dialect) = Dialect::detect_in_line(rest) {
            // A first line that is longer than the searched part.
            return Ok(DetectedFormat::Log(dialect));
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        Ok(if !lines.has_text && rest.is_empty() {
            DetectedFormat::Blank(Dialect::TENSET)
        } else if let Some(document) =
            find_document_format(|document| document.matches_text(&self.bytes))
        {
            DetectedFormat::Document(document)
        } else if let Some(content) = autotuners::detect(&self.bytes) {
            match content {
                TunerContent::File(file) => DetectedFormat::Document(file),
                TunerContent::NoRecords(reason) => {
                    DetectedFormat::Unknown(FileDescription::new(reason))
                }
            }
        } else if lines.is_old_autotvm {
            DetectedFormat::Unknown(FileDescription::new(autotvm::OLD_LOG_DESCRIPTION))
        } else if let Some((number, dialect, reason)) = lines.rejected {
            DetectedFormat::Unknown(FileDescription::new(format!(
                "text similar to {}, without any record (line {number}: {reason})",
                dialect.description()
            )))
        } else {
            DetectedFormat::Unknown(file_description::describe_text(&self.bytes))
        })
    }

    fn detect_by_magic(&self) -> Option<DetectedFormat> {
        let (start, magic) = TAR_MAGIC;
        let head = self.bytes.as_slice();
        if let Some(document) = find_document_format(|document| document.has_magic(head)) {
            Some(DetectedFormat::Document(document))
        } else if head.get(start..start + magic.len()) == Some(magic) {
            Some(DetectedFormat::Archive)
        } else {
            file_description::describe_magic(head).map(DetectedFormat::Unknown)
        }
    }
}

/// Returns the first document format that satisfies the predicate.
fn find_document_format(
    matches: impl Fn(&dyn DocumentFormat) -> bool,
) -> Option<&'static dyn DocumentFormat> {
    DOCUMENTS
        .iter()
        .copied()
        .find(|document| matches(*document))
}

/// State of the line scan.
#[derive(Default)]
struct ScannedLines {
    /// Scanned bytes.
    scanned_bytes: usize,
    count: u64,
    /// Whether a line is not a comment.
    has_text: bool,
    /// First line that started like a record but was rejected: its number, dialect and reason.
    rejected: Option<(u64, Dialect, String)>,
    /// Whether one of the first lines is a record of AutoTVM version 0.1, which is a document of its own.
    is_old_autotvm: bool,
}

/// Lines that are checked for records of AutoTVM version 0.1. The check parses each line once more.
const MAX_OLD_LINES: u64 = 256;

impl ScannedLines {
    /// Scans the lines up to `end`; returns the dialect of the first record.
    fn scan(&mut self, head: &[u8], end: usize) -> Option<Dialect> {
        let new = head.get(self.scanned_bytes..end).unwrap_or(&[]);
        self.scanned_bytes = self.scanned_bytes.max(end);
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
            if self.count <= MAX_OLD_LINES && autotvm::is_old_record(line) {
                self.is_old_autotvm = true;
                continue;
            }
            let Some(dialect) = Dialect::detect_in_line(line) else {
                continue;
            };
            let rows = dialect.parse(line, false, &LogContext::default());
            if !rows.records.is_empty() {
                return Some(dialect);
            }
            let reason = rows.others.into_iter().find_map(|other| other.reason);
            if let (None, Some(reason)) = (&self.rejected, reason) {
                self.rejected = Some((self.count, dialect, reason));
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
        match Head::new(bytes).detect().unwrap() {
            DetectedFormat::Log(dialect) => dialect,
            other => panic!("{other:?}"),
        }
    }

    fn unknown_description(bytes: &[u8]) -> String {
        match Head::new(bytes).detect().unwrap() {
            DetectedFormat::Unknown(description) => description.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_record_among_the_first_lines_makes_a_log() {
        let tenset = Dialect::TENSET;
        for prefix in ["", "\u{feff}", "# c\n\n", "{}\n", "garbage\n\0\n", "  x\n"] {
            assert_eq!(dialect(format!("{prefix}{RECORD}\n").as_bytes()), tenset);
        }
        let noise = "output of a child process\n".repeat(100_000);
        assert_eq!(dialect(format!("{noise}{RECORD}").as_bytes()), tenset);
        let measured = format!("{MEASURED}\n{RECORD}\n");
        assert_eq!(dialect(measured.as_bytes()), Dialect::MEASURED);
        let long = format!("{}{}", &RECORD[..60], "9, ".repeat(3 << 20));
        assert_eq!(dialect(long.as_bytes()), tenset, "its line is still open");
    }

    #[test]
    fn files_of_comments_are_logs_by_their_name() {
        for text in ["", "# only\n# comments", "\n\r\n#\n"] {
            let format = Head::new(text.as_bytes()).detect().unwrap();
            assert!(
                matches!(format, DetectedFormat::Blank(_)),
                "{text:?}: {format:?}"
            );
        }
        for name in ["a.json", "p/a.json.gz", "a.b.json.zst", "tune.log"] {
            assert!(Dialect::TENSET.matches_file_name(name), "{name}");
        }
        for name in ["__init__.py", "README.md", "json", "a.json.py", "a.gz"] {
            assert!(!Dialect::TENSET.matches_file_name(name), "{name}");
        }
    }

    #[test]
    fn files_without_records_are_classified_by_content() {
        let newer = RECORD.replace("v0.6", "v0.9");
        assert_eq!(
            unknown_description(newer.as_bytes()),
            "text similar to an auto_scheduler log, without any record \
             (line 1: unknown version `v0.9`, expected v0.2 to v0.6)"
        );
        assert_eq!(unknown_description(b"# a title\n\nwords\n"), "text");
        assert_eq!(unknown_description(&[0, 1, 2, 3, 255, 7]), "binary data");
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
                .detect()
                .is_err()
        );
        let record = format!("{RECORD}\n");
        let damaged = record.as_bytes().chain(Broken);
        assert_eq!(dialect(damaged), Dialect::TENSET);
    }
}
