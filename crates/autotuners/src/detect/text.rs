//! Detection of line formats.

use crate::format::{Detected, Format, NoRecords};
use crate::formats::{inductor, miopen};

/// Maximum number of lines of a log that are looked at.
const MAX_LINES: usize = 10_000;

pub(super) fn detect(beginning: &[u8]) -> Option<Detected> {
    let text = String::from_utf8_lossy(beginning);
    let mut is_driver = false;
    for (number, line) in text.lines().take(MAX_LINES).enumerate() {
        if number == 0 && miopen::is_problem(line) {
            return Some(Detected::Format(Format::MiopenFindDb));
        }
        if inductor::heading(line).is_some() {
            return Some(Detected::Format(Format::Inductor));
        }
        is_driver |= line.starts_with("[driver] kernel=");
    }
    is_driver.then_some(Detected::NoRecords(NoRecords::HelionDriverLog))
}
