//! GraphNet: samples (a directory with a captured graph and what is known of its tensors) and
//! benchmark logs.
//!
//! ```text
//! model.py ─▶ lines ─▶ expr ─▶ call ─▶ program ─┐
//! weight_meta.py, input_meta.py ─▶ meta ────────┼─▶ sample
//! input_tensor_constraints.py ─▶ constraints ───┘
//! ```

mod call;
mod constraints;
mod expr;
mod lines;
pub mod log;
#[cfg(test)]
mod log_golden;
#[cfg(test)]
mod log_nasty;
pub mod meta;
pub(crate) mod paddle;
pub mod program;
pub(crate) mod render;
pub mod sample;

/// The dataset's name in the tables.
pub const NAME: &str = "graphnet";

/// The directories of the repository that samples lie in.
const ROOTS: [&str; 2] = ["samples", "paddle_samples"];

/// What is the same in the path of a sample and in the paths by which logs name it: the part from
/// the last `samples` or `paddle_samples` on, else all of it.
pub fn sample_key(path: &str) -> &str {
    let path = path.trim_matches('/');
    let parts = path.match_indices('/').map(|(at, _)| at + 1);
    let mut starts: Vec<usize> = std::iter::once(0).chain(parts).collect();
    starts.reverse();
    let root = starts.into_iter().find_map(|start| {
        let rest = path.get(start..)?;
        let first = rest.split('/').next()?;
        (ROOTS.contains(&first) && first.len() < rest.len()).then_some(rest)
    });
    root.unwrap_or(path)
}

/// Does a file begin like a benchmark log? It has more than one kind of tag, each behind a prompt of
/// one word at most: programs and documents that speak of tags have them within quotes and sentences.
pub fn is_log(head: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{is_log, sample_key};

    #[test]
    fn logs_are_told_from_programs_that_write_them() {
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
    fn paths_are_known_by_their_end() {
        assert_eq!(sample_key("/w/GraphNet/samples/timm/x"), "samples/timm/x");
        assert_eq!(sample_key("samples/samples/x/"), "samples/x");
        assert_eq!(
            sample_key("a/paddle_samples/P/x/subgraph_1"),
            "paddle_samples/P/x/subgraph_1"
        );
        assert_eq!(sample_key("/s/x"), "s/x");
        assert_eq!(sample_key("my/samples"), "my/samples");
    }
}
