//! Detection of formats by content.

mod probe;
mod table;
mod text;

use crate::format::Detected;
use probe::Probe;

/// Detects the format by the first bytes of a decompressed file. 64 KiB suffice for most files; more (up to 4 MiB) help
/// where a header is long.
#[must_use]
pub fn detect(beginning: &[u8]) -> Detected {
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        let probe = Probe::new(beginning);
        let found = probe.detect();
        if found != Detected::Unknown {
            return found;
        }
    }
    table::detect(beginning)
        .or_else(|| text::detect(beginning))
        .unwrap_or(Detected::Unknown)
}
