//! Logs of AutoTVM.

use tsql_formats::autotvm::{NAME, write};

use super::lines::{LineRoom, Written};

/// Its room.
pub(super) static ROOM: LineRoom = LineRoom {
    dataset: NAME,
    make_speller: |known| Written::speller(known, write),
};
