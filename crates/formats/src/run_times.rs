//! Run times of a line as columns.

use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, PackedRepeats};

/// Packs run times in seconds. Returns `None` for an empty list.
///
/// # Errors
/// Their mean in nanoseconds is no finite number.
pub(crate) fn pack_run_times(seconds: &[Decimal]) -> Result<Option<PackedRepeats>, String> {
    match repeats::pack(seconds) {
        Some(packed) if !packed.runtime_ns.is_finite() => {
            Err("the mean run time is out of range".to_owned())
        }
        packed => Ok(packed),
    }
}
