//! What archives hold, told by the names of their files.

use std::io::Read;

use tsql_formats::{DOCUMENTS, Documents, Input};

use crate::formats::taking::Admitting;
use crate::formats::{TAKING, archive};

/// What an archive holds: the room of its files, if they are of one that is read as a whole, and their names
/// where this one needs them.
pub(super) struct Inside {
    pub(super) room: Option<&'static dyn Admitting>,
    pub(super) names: Vec<String>,
}

/// Tells what an archive holds by the names of its files; a damaged one by those before the damage.
///
/// This is a pass of its own: only the names of all files say that an archive is one of logs, and which files
/// are one sample. Nothing may be read, nor unpacked, before that is known.
pub(super) fn inside(input: &Input, stream: impl Read) -> Inside {
    let mut inside = Inside {
        room: None,
        names: Vec::new(),
    };
    // Damage shows again when the files are read, after what came before it.
    let _ = archive::each(input, tar::Archive::new(stream), |name, _| {
        if inside.room.is_none() {
            let is_it = |document: &&dyn Documents| document.is_member(&name);
            let told = DOCUMENTS.into_iter().find(is_it);
            let room = |told| TAKING.iter().find(|room| room.takes(told)).copied();
            inside.room = told.and_then(room);
        }
        let is_told = inside.room.is_some_and(|room| !room.needs_names());
        inside.names.push(name);
        Ok((!is_told).then_some(()))
    });
    if !inside.room.is_some_and(Admitting::needs_names) {
        inside.names.clear();
    }
    inside
}
