//! Format of `network_info` files.

use crate::pickle::{self, Pickle};
use crate::{DocumentFormat, Format};

/// Name of the dataset. The graphs of the tasks are those of the logs of [`tenset`](crate::tenset).
pub const NAME: &str = "network_info";

/// Bytes that are searched for the start of the pickle.
const HEAD_BYTES: usize = 512;

/// Maximum size of a pickle without tasks in bytes; Python writes 18.
const EMPTY_BYTES: usize = 64;

/// Module of the task class.
const TASK_MODULE: &[u8] = b"tvm.auto_scheduler.search_task";

/// Document format of `network_info` files.
#[derive(Debug)]
pub struct NetworkInfo;

impl Format for NetworkInfo {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "a file of network_info"
    }
}

impl DocumentFormat for NetworkInfo {
    /// Other pickles are rejected by [`read`](super::read).
    fn has_magic(&self, head: &[u8]) -> bool {
        let [0x80, 2..=5, rest @ ..] = head else {
            return false;
        };
        let prefix = head.get(..HEAD_BYTES).unwrap_or(head);
        memchr::memmem::find(prefix, TASK_MODULE).is_some() || is_module(rest) || is_empty(head)
    }
}

/// Whether a pickle starts with a module: JSON text with a root.
fn is_module(pickle: &[u8]) -> bool {
    let pickle = match pickle {
        // Frame opcode with its length.
        [0x95, rest @ ..] => rest.get(8..).unwrap_or_default(),
        other => other,
    };
    // Text opcode with its length.
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

/// Whether it is a pickle of empty lists of tasks and weights.
fn is_empty(head: &[u8]) -> bool {
    let is_empty = |pickle: &Pickle| {
        let Some([tasks, weights]) = pickle.tuple(pickle.root()) else {
            return false;
        };
        let is_empty_sequence = |id| pickle.sequence(id).is_some_and(<[_]>::is_empty);
        is_empty_sequence(*tasks) && is_empty_sequence(*weights)
    };
    head.len() <= EMPTY_BYTES && pickle::read(head).is_ok_and(|pickle| is_empty(&pickle))
}
