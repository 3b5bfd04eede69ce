//! Choice of the core to measure on.
//!
//! Criteria, in this order: the fastest core type, isolated from the scheduler, idle sibling threads, idle
//! itself, highest number. Systems fill cores from the lowest number, and most interrupts go to core 0.
//! Choosing the same core each time makes timings comparable.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::conditions::{Ticks, ticks_by_core};
use crate::fs_root::FsRoot;
use crate::machine::siblings;

/// Observation time: 20 ticks of the kernel, enough to detect 5 %.
const SAMPLE_TIME: Duration = Duration::from_millis(200);

/// Properties of an allowed core.
#[derive(Clone, Debug, Default, PartialEq)]
struct Candidate {
    core: usize,
    /// Relative speed; 1024 for the fastest type.
    capacity: u64,
    isolated: bool,
    /// Busy fractions: of the other threads on the same physical core, and of this one.
    sibling_busy: f64,
    busy: f64,
}

/// Chooses the core to measure on; `None` if the system does not report the allowed cores.
///
/// Takes 0.2 s to observe the load of the cores.
pub(crate) fn choose_core() -> Option<usize> {
    let root = FsRoot::system();
    let allowed = usable_cores(&root, allowed_cores());
    let read_ticks = || ticks_by_core(&root.text("/proc/stat").unwrap_or_default());
    let before = read_ticks();
    std::thread::sleep(SAMPLE_TIME);
    best_candidate(&measure_candidates(&root, &allowed, &before, &read_ticks()))
}

/// Cores that this process may run on.
pub(crate) fn allowed_cores() -> BTreeSet<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return BTreeSet::new();
    };
    (0..nix::sched::CpuSet::count())
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect()
}

/// Adds isolated cores to `allowed` if they are missing only because of their isolation.
///
/// The kernel excludes isolated cores from the affinity of new processes, but processes may request them.
/// An affinity that excludes other cores was set by somebody and stays unchanged.
fn usable_cores(root: &FsRoot, allowed: BTreeSet<usize>) -> BTreeSet<usize> {
    let list = |name: &str| {
        root.cpu_set(&format!("/sys/devices/system/cpu/{name}"))
            .unwrap_or_default()
    };
    let (online, isolated) = (list("online"), list("isolated"));
    let default: BTreeSet<_> = online.difference(&isolated).copied().collect();
    if allowed != default {
        return allowed;
    }
    let usable = isolated.into_iter().filter(|&core| may_run_on(core));
    allowed.into_iter().chain(usable).collect()
}

/// Returns whether a thread can be bound to the core. Tried on a short-lived thread.
fn may_run_on(core: usize) -> bool {
    let attempt = std::thread::spawn(move || {
        let mut set = nix::sched::CpuSet::new();
        set.set(core)
            .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set))
    });
    attempt.join().is_ok_and(|result| result.is_ok())
}

fn measure_candidates(
    root: &FsRoot,
    allowed: &BTreeSet<usize>,
    before: &BTreeMap<usize, Ticks>,
    after: &BTreeMap<usize, Ticks>,
) -> Vec<Candidate> {
    let isolated = root
        .cpu_set("/sys/devices/system/cpu/isolated")
        .unwrap_or_default();
    let fast = root.cpu_set("/sys/devices/cpu_core/cpus");
    let busy = |cores: &BTreeSet<usize>| {
        let sum = |ticks: &BTreeMap<usize, Ticks>| {
            let core_ticks = cores.iter().filter_map(|core| ticks.get(core).copied());
            core_ticks.fold(Ticks::default(), Ticks::plus)
        };
        sum(after).busy_fraction_since(sum(before))
    };
    let candidate = |&core: &usize| Candidate {
        core,
        capacity: match &fast {
            // Intel hybrid processors list their fast cores; ARM kernels report a capacity.
            Some(fast) => u64::from(fast.contains(&core)),
            None => root
                .parse_number(&format!("/sys/devices/system/cpu/cpu{core}/cpu_capacity"))
                .unwrap_or(0),
        },
        isolated: isolated.contains(&core) && siblings(root, core).is_subset(&isolated),
        sibling_busy: busy(&siblings(root, core)),
        busy: busy(&BTreeSet::from([core])),
    };
    allowed.iter().map(candidate).collect()
}

/// Best candidate by the criteria above.
///
/// Sibling load counts in steps of 5 %, each of which slows a kernel by 1 to 2.5 %. The core's own load
/// counts in quarters: the scheduler moves other tasks away once a kernel runs there, unless they are bound
/// to the core.
fn best_candidate(candidates: &[Candidate]) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to the number of steps"
    )]
    let step = |fraction: f64, steps: f64| (fraction.clamp(0.0, 1.0) * steps).floor() as u32;
    let rank = |candidate: &&Candidate| {
        (
            candidate.capacity,
            candidate.isolated,
            std::cmp::Reverse((
                step(candidate.sibling_busy, 20.0),
                step(candidate.busy, 4.0),
            )),
            candidate.core,
        )
    };
    candidates
        .iter()
        .max_by_key(rank)
        .map(|candidate| candidate.core)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs_root::write_files;

    fn idle_candidate(core: usize) -> Candidate {
        Candidate {
            core,
            capacity: 1024,
            ..Candidate::default()
        }
    }

    #[test]
    fn an_idle_core_other_than_the_first_is_chosen() {
        assert_eq!(
            best_candidate(&[idle_candidate(0), idle_candidate(1)]),
            Some(1)
        );
        assert_eq!(best_candidate(&[idle_candidate(0)]), Some(0));
        assert_eq!(best_candidate(&[]), None);
        let busy = Candidate {
            busy: 0.9,
            ..idle_candidate(1)
        };
        assert_eq!(best_candidate(&[idle_candidate(0), busy]), Some(0));
        let barely = Candidate {
            busy: 0.2,
            ..idle_candidate(1)
        };
        assert_eq!(best_candidate(&[idle_candidate(0), barely]), Some(1));
    }

    #[test]
    fn fast_cores_come_first_then_isolated_ones_then_idle_siblings() {
        let slow = Candidate {
            capacity: 512,
            isolated: true,
            ..idle_candidate(3)
        };
        let isolated = Candidate {
            isolated: true,
            busy: 0.5,
            ..idle_candidate(1)
        };
        let crowded = Candidate {
            sibling_busy: 0.5,
            ..idle_candidate(4)
        };
        assert_eq!(
            best_candidate(&[slow.clone(), isolated, idle_candidate(2), crowded.clone()]),
            Some(1)
        );
        assert_eq!(
            best_candidate(&[slow.clone(), idle_candidate(2), crowded.clone()]),
            Some(2)
        );
        assert_eq!(best_candidate(&[slow, crowded]), Some(4));
    }

    #[test]
    fn load_of_cores_comes_from_their_ticks() {
        let folder = tempfile::tempdir().unwrap();
        write_files(
            folder.path(),
            &[
                ("/sys/devices/system/cpu/isolated", "2-3\n"),
                (
                    "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
                    "0,2\n",
                ),
                (
                    "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
                    "3\n",
                ),
                ("/sys/devices/system/cpu/cpu3/cpu_capacity", "1024\n"),
            ],
        );
        let ticks = |busy, total| Ticks {
            busy,
            steal: 0,
            total,
        };
        let before = BTreeMap::from([
            (0, ticks(0, 500)),
            (2, ticks(10, 1000)),
            (3, ticks(10, 1000)),
        ]);
        let after = BTreeMap::from([
            (0, ticks(10, 520)),
            (2, ticks(15, 1020)),
            (3, ticks(15, 1020)),
        ]);
        let allowed = [2, 3].into_iter().collect();
        let found = measure_candidates(&FsRoot::new(folder.path()), &allowed, &before, &after);
        // Core 2 shares its physical core with a core that is not isolated.
        let second = Candidate {
            core: 2,
            capacity: 0,
            isolated: false,
            sibling_busy: 0.5,
            busy: 0.25,
        };
        assert_eq!(
            found,
            [
                second.clone(),
                Candidate {
                    core: 3,
                    capacity: 1024,
                    isolated: true,
                    sibling_busy: 0.0,
                    ..second
                }
            ]
        );
    }

    #[test]
    fn isolated_cores_are_used_unless_the_affinity_is_restricted() {
        let core = allowed_cores().into_iter().next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let list = format!("{core},60000\n");
        write_files(
            folder.path(),
            &[
                (
                    "/sys/devices/system/cpu/online",
                    format!("{core},50000,50001,60000").as_str(),
                ),
                ("/sys/devices/system/cpu/isolated", list.as_str()),
            ],
        );
        let root = FsRoot::new(folder.path());
        // Binding to the first core is permitted; core 60000 does not exist.
        assert_eq!(
            usable_cores(&root, BTreeSet::from([50000, 50001])),
            BTreeSet::from([core, 50000, 50001])
        );
        assert_eq!(
            usable_cores(&root, BTreeSet::from([50000])),
            BTreeSet::from([50000])
        );
    }

    #[test]
    fn the_choice_is_an_allowed_core() {
        assert!(allowed_cores().contains(&choose_core().unwrap()));
    }
}
