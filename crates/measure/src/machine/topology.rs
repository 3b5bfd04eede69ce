//! Sockets, cores, threads and caches, from sysfs.
//!
//! Cache sizes come from sysfs only: in a virtual machine, the C library's `sysconf` reports those of the
//! host.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::fs_root::{FsRoot, format_cpus, parse_field};

const CPUS: &str = "/sys/devices/system/cpu";

/// Arrangement of the processors. Counts include only processors that are online.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Topology {
    pub(crate) sockets: Option<u32>,
    pub(crate) cores: Option<u32>,
    pub(crate) threads: Option<u32>,
    pub(crate) numa_nodes: Option<u32>,
    /// Whether threads currently share a core. A virtual machine may not report it.
    pub(crate) smt_active: Option<bool>,
    /// Distinct caches of all cores, by level and type.
    pub(crate) caches: Vec<Cache>,
}

/// Caches of one type. A hybrid processor has several types per level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    /// `data`, `instruction`, `unified`.
    pub(crate) kind: String,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) line_bytes: Option<u32>,
    pub(crate) ways: Option<u32>,
    /// Number of threads that share one cache.
    pub(crate) shared_by: Option<u32>,
    /// Number of these caches.
    pub(crate) count: u32,
}

impl Topology {
    pub(super) fn read(root: &FsRoot) -> Self {
        let online = root.cpu_set(&format!("{CPUS}/online")).unwrap_or_default();
        let (mut sockets, mut cores) = (BTreeSet::new(), BTreeSet::new());
        for cpu in &online {
            let read_file =
                |name: &str| root.nonempty_text(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
            // ARM kernels report -1 if the firmware does not provide it.
            sockets.extend(read_file("physical_package_id").filter(|id| id != "-1"));
            // `core_id` is unique only within its socket; the list of siblings is unique.
            cores.extend(read_file("thread_siblings_list").or_else(|| read_file("core_cpus_list")));
        }
        let nodes = root.cpu_set("/sys/devices/system/node/online");
        let mut topology = Self {
            sockets: nonzero_count(sockets.len()),
            cores: nonzero_count(cores.len()),
            threads: nonzero_count(online.len()),
            numa_nodes: nodes.and_then(|nodes| nonzero_count(nodes.len())),
            smt_active: read_smt(root),
            caches: read_caches(root, &online),
        };
        if online.is_empty() {
            topology.count_cpuinfo(&root.text("/proc/cpuinfo").unwrap_or_default());
        }
        topology
    }

    /// Counts processors in `/proc/cpuinfo`, if a sandbox hides sysfs.
    fn count_cpuinfo(&mut self, text: &str) {
        let blocks: Vec<_> = text
            .split("\n\n")
            .filter(|block| parse_field(block, "processor").is_some())
            .collect();
        let sockets: BTreeSet<_> = blocks
            .iter()
            .filter_map(|block| parse_field(block, "physical id"))
            .collect();
        let cores: BTreeSet<_> = blocks
            .iter()
            .filter_map(|block| {
                Some((
                    parse_field(block, "physical id")?,
                    parse_field(block, "core id")?,
                ))
            })
            .collect();
        self.threads = nonzero_count(blocks.len());
        self.sockets = nonzero_count(sockets.len());
        self.cores = nonzero_count(cores.len());
    }

    /// Level and size in bytes of each cache type, without instruction caches.
    #[cfg(test)]
    pub(crate) fn data_caches(&self) -> Vec<(u32, Option<u64>)> {
        let data = self
            .caches
            .iter()
            .filter(|cache| cache.kind != "instruction");
        data.map(|cache| (cache.level, cache.size_bytes)).collect()
    }
}

/// `None` for a count of 0, because every machine has cores.
fn nonzero_count(length: usize) -> Option<u32> {
    u32::try_from(length).ok().filter(|&count| count > 0)
}

fn read_smt(root: &FsRoot) -> Option<bool> {
    match root.nonempty_text(&format!("{CPUS}/smt/active"))?.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Threads of the same core as `cpu`, without `cpu`.
pub(crate) fn siblings(root: &FsRoot, cpu: usize) -> BTreeSet<usize> {
    let path = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
    let mut siblings = root.cpu_set(&path).unwrap_or_default();
    siblings.remove(&cpu);
    siblings
}

fn read_caches(root: &FsRoot, online: &BTreeSet<usize>) -> Vec<Cache> {
    // Each cache is listed by all threads that share it. A cache is identified by its type and its threads.
    let mut sorts: BTreeMap<Cache, BTreeSet<String>> = BTreeMap::new();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        for index in root
            .entry_names(&folder)
            .iter()
            .filter(|name| name.starts_with("index"))
        {
            let read_file = |name: &str| root.nonempty_text(&format!("{folder}/{index}/{name}"));
            let (Some(level), Some(kind)) = (
                read_file("level").and_then(|level| level.parse().ok()),
                read_file("type"),
            ) else {
                continue;
            };
            let sharing = root.cpu_set(&format!("{folder}/{index}/shared_cpu_list"));
            let sort = Cache {
                level,
                kind: kind.to_lowercase(),
                size_bytes: read_file("size").and_then(|size| parse_size(&size)),
                line_bytes: read_file("coherency_line_size").and_then(|line| line.parse().ok()),
                ways: read_file("ways_of_associativity").and_then(|ways| ways.parse().ok()),
                shared_by: sharing.as_ref().and_then(|cpus| nonzero_count(cpus.len())),
                count: 0,
            };
            let threads = sharing.map_or_else(|| cpu.to_string(), |cpus| format_cpus(&cpus));
            sorts.entry(sort).or_default().insert(threads);
        }
    }
    let counted = sorts.into_iter().map(|(sort, all)| Cache {
        count: nonzero_count(all.len()).unwrap_or(0),
        ..sort
    });
    counted.collect()
}

/// Parses a size in bytes: `32K`, `2M`, `512`.
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
        for malformed in ["K", "", "1T", "-1K"] {
            assert_eq!(parse_size(malformed), None, "{malformed}");
        }
    }
}
