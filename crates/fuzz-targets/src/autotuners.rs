//! Files of autotuners.

use tsql_formats::autotuners::readers::{
    Detected, Event, Format, ReadOptions, Reader, Status, detect,
};

use super::round_trip::ingest_round_trip;

/// Maximum number of events for each byte of input.
const EVENTS_A_BYTE: usize = 2;

/// A file is read to its end, and no failure has a time. It comes back from a store byte for byte.
pub(super) fn file(bytes: &[u8]) {
    let Detected::Format(format) = detect(bytes) else {
        return;
    };
    read(format, bytes);
    let mut named = vec![0];
    named.extend_from_slice(bytes);
    ingest_round_trip(&named);
}

fn read(format: Format, bytes: &[u8]) {
    let reader = Reader::new(format, bytes, ReadOptions::default());
    for (count, event) in reader.enumerate() {
        assert!(count <= EVENTS_A_BYTE * bytes.len(), "too many events");
        let Ok(event) = event else {
            return;
        };
        if let Event::Trial(trial) = event {
            let seconds = trial.time.as_ref().map(|time| time.seconds());
            assert!(seconds.is_none_or(|seconds| (0.0..f64::INFINITY).contains(&seconds)));
            assert!(seconds.is_none() || trial.status == Status::Ok);
            assert!(trial.bytes.end <= bytes.len() as u64);
        }
    }
}
