//! Checks of memory and disk space.

use super::finding::Finding;
use super::probe::Probe;
use crate::conditions::Conditions;
use crate::machine::Machine;

/// Space for a few thousand built kernels of 100 kB each, and their journal.
const NEEDED_BYTES: u64 = 1 << 30;

const MIB: u64 = 1 << 20;

pub(super) fn findings(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Vec<Finding> {
    vec![scratch(probe), swap(machine, conditions, probe)]
}

fn scratch(probe: &Probe) -> Finding {
    let Some(space) = &probe.scratch else {
        return Finding::warning("scratch", "the folder for temporary files is missing")
            .with_hint("set the variable `TMPDIR`");
    };
    let detail = format!(
        "{} MiB of {} MiB free in `{}`",
        space.free_bytes / MIB,
        space.total_bytes / MIB,
        space.folder.display()
    );
    if space.free_bytes < NEEDED_BYTES {
        return Finding::warning("scratch", detail).with_hint(
            "free some space, or set the variable `TMPDIR` to a folder with 1 GiB free",
        );
    }
    Finding::ok("scratch", detail)
}

fn swap(machine: &Machine, conditions: &Conditions, probe: &Probe) -> Finding {
    let moving = conditions
        .swapped_pages
        .zip(probe.after.swapped_pages)
        .is_some_and(|(before, after)| after > before);
    match (machine.memory.swap_bytes, conditions.swap_used_bytes) {
        (_, Some(used)) if moving => Finding::warning(
            "swap",
            format!("in use now ({} MiB)", used / MIB),
        )
        .with_hint(
            "end processes that need the memory: buffers may be read from disk while a kernel runs",
        ),
        (_, Some(used)) if used > 0 => {
            Finding::note("swap", format!("{} MiB used, not active now", used / MIB))
        }
        (Some(0), _) => Finding::ok("swap", "none"),
        (Some(_), Some(_)) => Finding::ok("swap", "unused"),
        _ => Finding::note("swap", "unknown"),
    }
}
