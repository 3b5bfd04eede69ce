//! Moves tuning records to another database, whose workloads have other line numbers.

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the line of a tuning record with another workload index; all other bytes are unchanged. A byte order mark is
/// removed because TVM cannot read it. `None` for a line that does not start like a record.
pub fn renumber(line: &[u8], workload_index: i32) -> Option<Vec<u8>> {
    let mut line = line;
    while let Some(rest) = line.strip_prefix(BYTE_ORDER_MARK) {
        line = rest;
    }
    let from_index = line.trim_ascii_start().strip_prefix(b"[")?;
    let from_index = from_index.trim_ascii_start();
    let is_end = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
    let (index, rest) = from_index.split_at_checked(from_index.iter().position(is_end)?)?;
    let is_index = index
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'-');
    if index.is_empty() || !is_index {
        return None;
    }
    let (prefix, _) = line.split_at_checked(line.len() - from_index.len())?;
    Some([prefix, workload_index.to_string().as_bytes(), rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_workload_index_changes() {
        for (line, expected) in [
            ("[0,[[[]]]]", "[17,[[[]]]]"),
            ("[ 12 , [1, 2]]\r", "[ 17 , [1, 2]]\r"),
            (" [3,[[\"0\"]]]", " [17,[[\"0\"]]]"),
            ("\u{feff}\u{feff}[3,[]]", "[17,[]]"),
            ("[-0,[]]", "[17,[]]"),
        ] {
            let renumbered = renumber(line.as_bytes(), 17).unwrap();
            assert_eq!(String::from_utf8(renumbered).unwrap(), expected);
        }
        assert_eq!(renumber(b"[0,[]]", 0).unwrap(), b"[0,[]]");
        for line in ["", "[]", "{\"a\": 1}", "[[0]]", "# 1"] {
            assert_eq!(renumber(line.as_bytes(), 1), None, "{line}");
        }
    }
}
