//! Formats of GraphNet files.

use super::log::legacy;
use super::sample::METADATA;
use crate::{DocumentFormat, Format};

/// Samples: folders of files, also in archives.
#[derive(Debug)]
pub struct Samples;

/// Samples of the GraphNet hub: Parquet files with rows `(path, content, source_folder)`.
#[derive(Debug)]
pub struct Hub;

/// Benchmark logs.
#[derive(Debug)]
pub struct BenchmarkLog;

impl Format for Samples {
    fn dataset(&self) -> &'static str {
        super::NAME
    }

    fn description(&self) -> &'static str {
        "a sample of GraphNet"
    }
}

impl DocumentFormat for Samples {
    fn matches_member(&self, name: &str) -> bool {
        name == METADATA || name.ends_with(&format!("/{METADATA}"))
    }
}

impl Format for Hub {
    fn dataset(&self) -> &'static str {
        super::NAME
    }

    fn description(&self) -> &'static str {
        "a Parquet file of GraphNet's hub"
    }
}

impl DocumentFormat for Hub {
    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(b"PAR1")
    }
}

impl Format for BenchmarkLog {
    fn dataset(&self) -> &'static str {
        super::NAME
    }

    fn name(&self) -> &'static str {
        "graphnet_log"
    }

    fn description(&self) -> &'static str {
        "a benchmark log of GraphNet"
    }
}

impl DocumentFormat for BenchmarkLog {
    fn matches_text(&self, head: &[u8]) -> bool {
        is_log(head) || is_legacy_log(head)
    }
}

/// Whether a file begins like a benchmark log. It must have more than one kind of tag, each after a prompt of at most
/// one word. Programs and documents that mention tags have them in quotes and sentences.
fn is_log(head: &[u8]) -> bool {
    const TAGS: [&[u8]; 6] = [
        b"[Processing] ",
        b"[Config] ",
        b"[Datatype][",
        b"[Performance][",
        b"[Result] status: ",
        b"[Fail due to ",
    ];
    let mut found = [false; TAGS.len()];
    for start in memchr::memchr_iter(b'[', head) {
        let rest = head.get(start..).unwrap_or(&[]);
        let tag = TAGS.iter().position(|tag| rest.starts_with(tag));
        let Some(seen) = tag.and_then(|tag| found.get_mut(tag)) else {
            continue;
        };
        let before = head.get(..start).unwrap_or(&[]);
        let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let prompt = before.get(line..).unwrap_or(&[]);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(byte);
        *seen |= match prompt.strip_suffix(b" ") {
            Some(word) => !word.is_empty() && word.iter().all(is_word),
            None => prompt.is_empty(),
        };
    }
    found.iter().filter(|found| **found).count() > 1
}

/// Whether a file has more than one kind of line of the legacy test compiler.
fn is_legacy_log(head: &[u8]) -> bool {
    let mut first: Option<&str> = None;
    for at in memchr::memmem::find_iter(head, b" model_path:") {
        let before = head.get(..at).unwrap_or(&[]);
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let rest = head.get(start..).unwrap_or(&[]);
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest
            .get(..end)
            .and_then(|line| std::str::from_utf8(line).ok());
        let Some(key) = line.and_then(legacy::parse_key) else {
            continue;
        };
        match first {
            Some(first) if first != key => return true,
            _ => first = Some(key),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{is_legacy_log, is_log};

    #[test]
    fn logs_differ_from_programs_that_write_them() {
        let log = "noise\ntest-log [Processing] /s/x\ntest-log [Config] model: x\n";
        assert!(is_log(log.as_bytes()));
        assert!(is_log(b"[Processing] /s/x\n[Result] status: failed\n"));
        assert!(!is_log(
            b"test-log [Processing] /s/x\ntest-log [Processing] /s/y\n"
        ));
        let program =
            "    print(f\"{prompt} [Processing] {path}\")\n    # reads [Config] model: x\n";
        assert!(!is_log(program.as_bytes()));
        assert!(!is_log(
            b"The tag [Processing] begins a record, [Config] follows.\n"
        ));
    }
    #[test]
    fn logs_without_bracket_tags_are_detected_by_keys() {
        let line = |key: &str| format!("graph-net-test-compiler-log {key} model_path:/s/x 1\n");
        let log = format!("Fail to export\n{}{}", line("equal"), line("max_diff"));
        assert!(is_legacy_log(log.as_bytes()));
        let old = line("cmp.equal") + &line("cmp.all_close_atol8_rtol8");
        assert!(is_legacy_log(old.as_bytes()));
        assert!(!is_legacy_log((line("equal") + &line("equal")).as_bytes()));
        assert!(!is_legacy_log(
            (line("loss") + &line("accuracy")).as_bytes()
        ));
        let program = "    print(f\"{prompt} equal model_path:{path}\")\n    print(f\"{prompt} max_diff model_path:{path}\")\n";
        assert!(!is_legacy_log(program.as_bytes()));
    }
}
