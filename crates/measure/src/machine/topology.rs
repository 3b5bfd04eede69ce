//! Sockets, cores, threads and caches, from sysfs.
//!
//! Sizes of caches come from sysfs alone: the C library's `sysconf` reports those of the host in a
//! virtual machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::root::{Root, cpu_list, field};

const CPUS: &str = "/sys/devices/system/cpu";

/// How the processors are arranged. Counts are of those that are online.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Topology {
    pub(crate) sockets: Option<u32>,
    pub(crate) cores: Option<u32>,
    pub(crate) threads: Option<u32>,
    pub(crate) numa_nodes: Option<u32>,
    /// Two or more threads share a core now. A virtual machine may not be told that they do.
    pub(crate) smt_active: Option<bool>,
    /// Distinct caches of all cores, by level and kind.
    pub(crate) caches: Vec<Cache>,
}

/// Caches of one sort: a hybrid processor has several sorts at one level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    /// `data`, `instruction`, `unified`.
    pub(crate) kind: String,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) line_bytes: Option<u32>,
    pub(crate) ways: Option<u32>,
    /// Threads that share one of them.
    pub(crate) shared_by: Option<u32>,
    /// How many of them there are.
    pub(crate) count: u32,
}

impl Topology {
    pub(super) fn read(root: &Root) -> Self {
        let online = root.cpus(&format!("{CPUS}/online")).unwrap_or_default();
        let (mut sockets, mut cores) = (BTreeSet::new(), BTreeSet::new());
        for cpu in &online {
            let of = |name: &str| root.word(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
            // ARM kernels say -1 where the firmware does not tell.
            sockets.extend(of("physical_package_id").filter(|id| id != "-1"));
            // `core_id` is unique in its socket only; the list of siblings is unique.
            cores.extend(of("thread_siblings_list").or_else(|| of("core_cpus_list")));
        }
        let nodes = root.cpus("/sys/devices/system/node/online");
        let mut topology = Self {
            sockets: count(sockets.len()),
            cores: count(cores.len()),
            threads: count(online.len()),
            numa_nodes: nodes.and_then(|nodes| count(nodes.len())),
            smt_active: smt(root),
            caches: caches(root, &online),
        };
        if online.is_empty() {
            topology.count_cpuinfo(&root.text("/proc/cpuinfo").unwrap_or_default());
        }
        topology
    }

    /// Counts from `/proc/cpuinfo`, where a sandbox hides sysfs.
    fn count_cpuinfo(&mut self, text: &str) {
        let blocks: Vec<_> = text
            .split("\n\n")
            .filter(|block| field(block, "processor").is_some())
            .collect();
        let sockets: BTreeSet<_> = blocks
            .iter()
            .filter_map(|block| field(block, "physical id"))
            .collect();
        let cores: BTreeSet<_> = blocks
            .iter()
            .filter_map(|block| Some((field(block, "physical id")?, field(block, "core id")?)))
            .collect();
        self.threads = count(blocks.len());
        self.sockets = count(sockets.len());
        self.cores = count(cores.len());
    }

    /// Bytes of all caches up to the last level that one thread reaches, those for instructions aside.
    #[cfg(test)]
    pub(crate) fn data_caches(&self) -> Vec<(u32, Option<u64>)> {
        let data = self
            .caches
            .iter()
            .filter(|cache| cache.kind != "instruction");
        data.map(|cache| (cache.level, cache.size_bytes)).collect()
    }
}

/// `None` for nothing counted: no machine has no core.
fn count(length: usize) -> Option<u32> {
    u32::try_from(length).ok().filter(|&count| count > 0)
}

fn smt(root: &Root) -> Option<bool> {
    match root.word(&format!("{CPUS}/smt/active"))?.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Threads of the same core as `cpu`, without it.
pub(crate) fn siblings(root: &Root, cpu: usize) -> BTreeSet<usize> {
    let path = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
    let mut siblings = root.cpus(&path).unwrap_or_default();
    siblings.remove(&cpu);
    siblings
}

fn caches(root: &Root, online: &BTreeSet<usize>) -> Vec<Cache> {
    // Each cache is listed by all threads that share it: a cache is its sort and its threads.
    let mut sorts: BTreeMap<Cache, BTreeSet<String>> = BTreeMap::new();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        for index in root
            .names(&folder)
            .iter()
            .filter(|name| name.starts_with("index"))
        {
            let of = |name: &str| root.word(&format!("{folder}/{index}/{name}"));
            let (Some(level), Some(kind)) =
                (of("level").and_then(|level| level.parse().ok()), of("type"))
            else {
                continue;
            };
            let sharing = root.cpus(&format!("{folder}/{index}/shared_cpu_list"));
            let sort = Cache {
                level,
                kind: kind.to_lowercase(),
                size_bytes: of("size").and_then(|size| parse_size(&size)),
                line_bytes: of("coherency_line_size").and_then(|line| line.parse().ok()),
                ways: of("ways_of_associativity").and_then(|ways| ways.parse().ok()),
                shared_by: sharing.as_ref().and_then(|cpus| count(cpus.len())),
                count: 0,
            };
            let threads = sharing.map_or_else(|| cpu.to_string(), |cpus| cpu_list(&cpus));
            sorts.entry(sort).or_default().insert(threads);
        }
    }
    let counted = sorts.into_iter().map(|(sort, all)| Cache {
        count: count(all.len()).unwrap_or(0),
        ..sort
    });
    counted.collect()
}

/// `32K`, `2M`, `512`: bytes.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, text.chars().last()),
        None => (text, None),
    };
    let scale = match unit {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_bytes() {
        assert_eq!(parse_size("32K"), Some(32768));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("512"), Some(512));
        for odd in ["K", "", "1T", "-1K"] {
            assert_eq!(parse_size(odd), None, "{odd}");
        }
    }
}
