//! What tells files of `network_info`.

use crate::pickle::{self, Pickle};
use crate::{Documents, Format};

/// Its name as dataset. The graphs of its tasks are those of the logs of [`tenset`](crate::tenset).
pub const NAME: &str = "network_info";

/// How much of a file is looked at for what its pickle begins with.
const LOOKED_AT: usize = 512;

/// How long a pickle without tasks may be: Python writes 18 bytes.
const EMPTY_BYTES: usize = 64;

/// Where the class of a task is.
const TASKS: &[u8] = b"tvm.auto_scheduler.search_task";

/// Files of `network_info`.
#[derive(Debug)]
pub struct NetworkInfo;

impl Format for NetworkInfo {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn described(&self) -> &'static str {
        "a file of network_info"
    }
}

impl Documents for NetworkInfo {
    /// Of other pickles [`read`](super::read) says so.
    fn has_magic(&self, head: &[u8]) -> bool {
        let [0x80, 2..=5, rest @ ..] = head else {
            return false;
        };
        let looked_at = head.get(..LOOKED_AT).unwrap_or(head);
        memchr::memmem::find(looked_at, TASKS).is_some() || is_module(rest) || is_empty(head)
    }
}

/// Does a pickle begin with a module: a text of JSON with a root?
fn is_module(pickle: &[u8]) -> bool {
    let pickle = match pickle {
        // A frame, and its length.
        [0x95, rest @ ..] => rest.get(8..).unwrap_or_default(),
        other => other,
    };
    // A text, and its length.
    let text = match pickle {
        [b'X', rest @ ..] => rest.get(4..),
        [0x8d, rest @ ..] => rest.get(8..),
        [0x8c, rest @ ..] => rest.get(1..),
        _ => None,
    };
    let text = text.unwrap_or_default().trim_ascii_start();
    let inner = text.strip_prefix(b"{").unwrap_or_default();
    inner.trim_ascii_start().starts_with(b"\"root")
}

/// Is it a pickle of no tasks with no weights?
fn is_empty(head: &[u8]) -> bool {
    let is_empty = |pickle: &Pickle| {
        let Some([tasks, weights]) = pickle.tuple(pickle.root()) else {
            return false;
        };
        let empty = |id| pickle.sequence(id).is_some_and(<[_]>::is_empty);
        empty(*tasks) && empty(*weights)
    };
    head.len() <= EMPTY_BYTES && pickle::read(head).is_ok_and(|pickle| is_empty(&pickle))
}
