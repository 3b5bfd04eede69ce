//! The readers.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::mpsc::sync_channel;

use tsql_formats::beside::Beside;
use tsql_formats::graphnet::log::Parser;
use tsql_formats::graphnet::log::lines::{Said, pack, unpack};
use tsql_formats::graphnet::sample::{self, File};
use tsql_formats::{Dialect, Head, tpugraphs};

use super::rows;
use crate::ingest::{Handed, hand_on};

/// Lines of auto_scheduler.
pub(super) fn auto_scheduler(bytes: &[u8]) {
    lines(Dialect::TENSET, bytes);
}

/// Lines of the dataset `measured`.
pub(super) fn measured(bytes: &[u8]) {
    lines(Dialect::MEASURED, bytes);
}

fn lines(dialect: Dialect, bytes: &[u8]) {
    for crlf in [false, true] {
        rows::hold(&dialect.parse(bytes, crlf, &Beside::default()), bytes);
    }
}

/// A file of TpuGraphs.
pub(super) fn npz(bytes: &[u8]) {
    let _ = tpugraphs::foreign(Cursor::new(bytes));
    let _ = tpugraphs::read(Cursor::new(bytes));
}

/// Begins a line that names the file which the following ones are.
const FILE: &str = "#@ ";

/// The files of a sample of GraphNet: what columns are said to give back, they do.
pub(super) fn sample(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files = text.split(FILE).filter_map(|file| file.split_once('\n'));
    let files = files.map(|(name, text)| File::new(name.to_owned(), text.into()));
    // A folder has each name once.
    let files: BTreeMap<String, File> = files.map(|file| (file.name.clone(), file)).collect();
    let files: Vec<File> = files.into_values().collect();
    let taken = sample::read(&files);
    for (file, &(place, rebuilt)) in files.iter().zip(&taken.files) {
        let name = file.name.rsplit('/').next().unwrap_or_default();
        if rebuilt && let Some(text) = taken.samples[place].file(name) {
            assert_eq!(text, String::from_utf8_lossy(&file.bytes), "{}", file.name);
        }
    }
}

/// A benchmark log of GraphNet: its lines are those that its runs give back.
pub(super) fn benchmark_log(bytes: &[u8]) {
    let mut parser = Parser::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        parser.push_line(line);
    }
    for run in parser.finish() {
        let said = Said::of(&run);
        let packed = pack(&said, bytes);
        if let Some(text) = unpack(&said, &packed) {
            // Whoever packs looks whether it comes back; here it is asked for little memory.
            assert!(text.len() <= bytes.len() + (1 << 20));
        }
        // As if they were packed by somebody else.
        let _ = unpack(&said, bytes);
    }
}

/// A stream of Arrow batches.
pub(super) fn arrow(bytes: &[u8]) {
    let (sender, lines) = sync_channel(4);
    std::thread::scope(|scope| {
        scope.spawn(move || lines.iter().count());
        hand_on(bytes, &sender);
        let _ = sender.send(Handed::Flush);
        drop(sender);
    });
}

/// What a file is.
pub(super) fn recognised(bytes: &[u8]) {
    let _ = Head::new(bytes).tell();
}
