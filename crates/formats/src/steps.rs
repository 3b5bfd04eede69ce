//! What a configuration chose, as a sketch and the numbers in it.

use tsql_codecs::sketch::{self, Scan};
use tsql_codecs::varint;

use crate::rows::Sketch;

/// The sketch of steps that are any JSON, or any text; appends its numbers to `params`.
pub(crate) fn sketch(steps: &str, scan: &mut Scan, params: &mut Vec<u8>) -> Sketch {
    let is_json = steps.starts_with(['{', '[']);
    let scanned = is_json && sketch::scan_values(steps.as_bytes(), scan).is_ok();
    if !scanned || scan.literal || scan.respell {
        let text = steps.as_bytes().to_vec();
        return Sketch {
            text,
            literal: true,
        };
    }
    for &number in &scan.numbers {
        varint::write_unsigned(number, params);
    }
    Sketch {
        text: scan.sketch.clone(),
        literal: false,
    }
}
