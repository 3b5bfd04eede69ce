//! Format of TpuGraphs files.

use crate::{DocumentFormat, Format};

/// Document format of npz files, also in archives.
#[derive(Debug)]
pub struct Arrays;

impl Format for Arrays {
    fn dataset(&self) -> &'static str {
        super::NAME
    }

    fn description(&self) -> &'static str {
        "an npz file of TpuGraphs"
    }
}

impl DocumentFormat for Arrays {
    fn has_magic(&self, head: &[u8]) -> bool {
        is_npz(head)
    }

    fn matches_member(&self, name: &str) -> bool {
        name.ends_with(".npz")
    }
}

/// Whether this is an archive whose first member is an array. An empty archive starts with its end record.
fn is_npz(head: &[u8]) -> bool {
    // APPNOTE.TXT of the zip format, 4.3.7: the name has its length at offset 26 and starts at offset 30.
    let first_name = || {
        let length = head.get(26..28)?;
        let length = u16::from_le_bytes(length.try_into().ok()?);
        head.get(30..30 + usize::from(length))
    };
    head.starts_with(b"PK\x05\x06")
        || head.starts_with(b"PK\x03\x04") && first_name().is_some_and(|n| n.ends_with(b".npy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_of_arrays_differ_from_others() {
        let zip = |name: &str| {
            let mut head = b"PK\x03\x04".to_vec();
            head.resize(26, 0);
            head.extend([u8::try_from(name.len()).unwrap(), 0, 0, 0]);
            head.extend(name.as_bytes());
            head
        };
        assert!(is_npz(&zip("config_runtime.npy")));
        assert!(!is_npz(&zip("a100/x.json")));
        assert!(!is_npz(b"PK\x03\x04"));
        assert!(is_npz(b"PK\x05\x06"));
    }
}
