//! Detects logs by the beginning of a file.

use super::legacy;

/// Whether a file starts like a benchmark log of any dialect.
pub fn is_log(head: &[u8]) -> bool {
    is_tagged_log(head) || is_legacy_log(head)
}

/// Whether a file has more than one kind of tag, each after a prompt of at most one word. Programs and documents that
/// mention tags have them in quotes and sentences.
fn is_tagged_log(head: &[u8]) -> bool {
    const TAGS: [&[u8]; 6] = [
        b"[Processing] ",
        b"[Config] ",
        b"[Datatype][",
        b"[Performance][",
        b"[Result] status: ",
        b"[Fail due to ",
    ];
    let mut has_tag = [false; TAGS.len()];
    for start in memchr::memchr_iter(b'[', head) {
        let rest = head.get(start..).unwrap_or(&[]);
        let tag = TAGS.iter().position(|tag| rest.starts_with(tag));
        let Some(is_found) = tag.and_then(|tag| has_tag.get_mut(tag)) else {
            continue;
        };
        let head_before = head.get(..start).unwrap_or(&[]);
        let line = memchr::memrchr(b'\n', head_before).map_or(0, |end| end + 1);
        let prompt = head_before.get(line..).unwrap_or(&[]);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(byte);
        *is_found |= match prompt.strip_suffix(b" ") {
            Some(prompt_word) => !prompt_word.is_empty() && prompt_word.iter().all(is_word),
            None => prompt.is_empty(),
        };
    }
    has_tag.iter().filter(|is_found| **is_found).count() > 1
}

/// Whether a file has more than one kind of line of the legacy test compiler.
fn is_legacy_log(head: &[u8]) -> bool {
    let mut first: Option<&str> = None;
    for position in memchr::memmem::find_iter(head, b" model_path:") {
        let head_before = head.get(..position).unwrap_or(&[]);
        let start = memchr::memrchr(b'\n', head_before).map_or(0, |end| end + 1);
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
    use super::{is_legacy_log, is_tagged_log};

    #[test]
    fn logs_differ_from_programs_that_write_them() {
        let log = "noise\ntest-log [Processing] /s/x\ntest-log [Config] model: x\n";
        assert!(is_tagged_log(log.as_bytes()));
        assert!(is_tagged_log(
            b"[Processing] /s/x\n[Result] status: failed\n"
        ));
        assert!(!is_tagged_log(
            b"test-log [Processing] /s/x\ntest-log [Processing] /s/y\n"
        ));
        let program =
            "    print(f\"{prompt} [Processing] {path}\")\n    # reads [Config] model: x\n";
        assert!(!is_tagged_log(program.as_bytes()));
        assert!(!is_tagged_log(
            b"The tag [Processing] begins a record, [Config] follows.\n"
        ));
    }
    #[test]
    fn logs_without_bracket_tags_are_detected_by_keys() {
        let line = |key: &str| format!("graph-net-test-compiler-log {key} model_path:/s/x 1\n");
        let log = format!("Fail to export\n{}{}", line("equal"), line("max_diff"));
        assert!(is_legacy_log(log.as_bytes()));
        let old_log = line("cmp.equal") + &line("cmp.all_close_atol8_rtol8");
        assert!(is_legacy_log(old_log.as_bytes()));
        assert!(!is_legacy_log((line("equal") + &line("equal")).as_bytes()));
        assert!(!is_legacy_log(
            (line("loss") + &line("accuracy")).as_bytes()
        ));
        let program = "    print(f\"{prompt} equal model_path:{path}\")\n    print(f\"{prompt} max_diff model_path:{path}\")\n";
        assert!(!is_legacy_log(program.as_bytes()));
    }
}
