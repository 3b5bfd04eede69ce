//! Which core to measure on.
//!
//! In this order: one of the fastest kind, one that the scheduler keeps clear of, one whose neighbours on
//! the same physical core are idle, one that is not at work itself, and at last the highest number: systems
//! fill up from the lowest, and most interrupts go to core 0. The same core each time, where nothing speaks
//! against it, makes timings comparable.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::conditions::{Ticks, ticks_by_core};
use crate::machine::siblings;
use crate::root::Root;

/// How long the cores are watched: 20 of the kernel's ticks, so that 5 % can be told.
const WATCH: Duration = Duration::from_millis(200);

/// What is known of a core that one may use.
#[derive(Clone, Debug, Default, PartialEq)]
struct Candidate {
    core: usize,
    /// Relative speed, 1024 for the fastest kind.
    capacity: u64,
    isolated: bool,
    /// Shares of the time at work: of the other threads on the same physical core, and its own.
    sibling_busy: f64,
    busy: f64,
}

/// The core to measure on; `None` where the system does not say which are allowed.
///
/// Takes a fifth of a second, in which it sees which cores are at work.
pub(crate) fn choose() -> Option<usize> {
    let root = Root::system();
    let allowed = reachable(&root, allowed());
    let read = || ticks_by_core(&root.text("/proc/stat").unwrap_or_default());
    let before = read();
    std::thread::sleep(WATCH);
    best(&candidates(&root, &allowed, &before, &read()))
}

/// Cores that this process may run on.
pub(crate) fn allowed() -> BTreeSet<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return BTreeSet::new();
    };
    (0..nix::sched::CpuSet::count())
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect()
}

/// `allowed`, with the isolated cores where these are missing only because they are isolated.
///
/// The kernel leaves isolated cores out of every new process's set, but lets it ask for them. A set
/// that lacks more than those was chosen by somebody and stays as it is.
fn reachable(root: &Root, allowed: BTreeSet<usize>) -> BTreeSet<usize> {
    let list = |name: &str| {
        root.cpus(&format!("/sys/devices/system/cpu/{name}"))
            .unwrap_or_default()
    };
    let (online, isolated) = (list("online"), list("isolated"));
    let default: BTreeSet<_> = online.difference(&isolated).copied().collect();
    if allowed != default {
        return allowed;
    }
    let open = isolated.into_iter().filter(|&core| may_run_on(core));
    allowed.into_iter().chain(open).collect()
}

/// Whether a thread can be bound to the core; tried in one that then ends.
fn may_run_on(core: usize) -> bool {
    let attempt = std::thread::spawn(move || {
        let mut set = nix::sched::CpuSet::new();
        set.set(core)
            .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set))
    });
    attempt.join().is_ok_and(|result| result.is_ok())
}

fn candidates(
    root: &Root,
    allowed: &BTreeSet<usize>,
    before: &BTreeMap<usize, Ticks>,
    after: &BTreeMap<usize, Ticks>,
) -> Vec<Candidate> {
    let isolated = root
        .cpus("/sys/devices/system/cpu/isolated")
        .unwrap_or_default();
    let fast = root.cpus("/sys/devices/cpu_core/cpus");
    let busy = |cores: &BTreeSet<usize>| {
        let sum = |ticks: &BTreeMap<usize, Ticks>| {
            let of = cores.iter().filter_map(|core| ticks.get(core).copied());
            of.fold(Ticks::default(), Ticks::plus)
        };
        sum(after).busy_since(sum(before))
    };
    let candidate = |&core: &usize| Candidate {
        core,
        capacity: match &fast {
            // Intel's hybrids name their fast cores; ARM's kernels give numbers.
            Some(fast) => u64::from(fast.contains(&core)),
            None => root
                .number(&format!("/sys/devices/system/cpu/cpu{core}/cpu_capacity"))
                .unwrap_or(0),
        },
        isolated: isolated.contains(&core) && siblings(root, core).is_subset(&isolated),
        sibling_busy: busy(&siblings(root, core)),
        busy: busy(&BTreeSet::from([core])),
    };
    allowed.iter().map(candidate).collect()
}

/// The best by the order above.
///
/// Neighbours count in steps of 5 %, of which 5 % slow a kernel by 1 to 2.5 %. The core's own work counts in
/// quarters: the scheduler moves it elsewhere once a kernel runs there, unless it is bound to the core.
fn best(candidates: &[Candidate]) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to the number of steps"
    )]
    let step = |share: f64, steps: f64| (share.clamp(0.0, 1.0) * steps).floor() as u32;
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
    use crate::root::write_files;

    fn idle(core: usize) -> Candidate {
        Candidate {
            core,
            capacity: 1024,
            ..Candidate::default()
        }
    }

    #[test]
    fn an_idle_core_other_than_the_first_is_chosen() {
        assert_eq!(best(&[idle(0), idle(1)]), Some(1));
        assert_eq!(best(&[idle(0)]), Some(0));
        assert_eq!(best(&[]), None);
        let busy = Candidate {
            busy: 0.9,
            ..idle(1)
        };
        assert_eq!(best(&[idle(0), busy]), Some(0));
        let barely = Candidate {
            busy: 0.2,
            ..idle(1)
        };
        assert_eq!(best(&[idle(0), barely]), Some(1));
    }

    #[test]
    fn fast_cores_come_first_then_isolated_ones_then_idle_siblings() {
        let slow = Candidate {
            capacity: 512,
            isolated: true,
            ..idle(3)
        };
        let isolated = Candidate {
            isolated: true,
            busy: 0.5,
            ..idle(1)
        };
        let crowded = Candidate {
            sibling_busy: 0.5,
            ..idle(4)
        };
        assert_eq!(
            best(&[slow.clone(), isolated, idle(2), crowded.clone()]),
            Some(1)
        );
        assert_eq!(best(&[slow.clone(), idle(2), crowded.clone()]), Some(2));
        assert_eq!(best(&[slow, crowded]), Some(4));
    }

    #[test]
    fn what_the_cores_did_is_taken_from_their_ticks() {
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
        let found = candidates(&Root::at(folder.path()), &allowed, &before, &after);
        // Core 2 shares its physical core with one that is not isolated.
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
    fn isolated_cores_are_reached_unless_somebody_chose_the_set() {
        let core = allowed().into_iter().next().unwrap();
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
        let root = Root::at(folder.path());
        // The first may be bound, 60000 does not exist.
        assert_eq!(
            reachable(&root, BTreeSet::from([50000, 50001])),
            BTreeSet::from([core, 50000, 50001])
        );
        assert_eq!(
            reachable(&root, BTreeSet::from([50000])),
            BTreeSet::from([50000])
        );
    }

    #[test]
    fn the_choice_is_an_allowed_core() {
        assert!(allowed().contains(&choose().unwrap()));
    }
}
