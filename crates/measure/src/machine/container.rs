//! Limits of a container or a control group.

use serde::{Deserialize, Serialize};

use crate::fs_root::{FsRoot, parse_field};

const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// Kind of container and its limits. Names of containers and paths of groups are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Container {
    /// `docker`, `podman`, `kubernetes`, `lxc`, `wsl`, ...; null if none is detected.
    pub(crate) kind: Option<String>,
    /// Version of the control groups that limit processor time: 1 or 2.
    pub(crate) cgroup_version: Option<u32>,
    /// Tightest `cpu.max` from here to the root: `150000 100000` (µs per period in µs), or `max` for no
    /// limit.
    pub(crate) cpu_max: Option<String>,
    /// Tightest memory limit in bytes; null for none.
    pub(crate) memory_max_bytes: Option<u64>,
    /// Processors that this process may run on, as a list (`0-3,8`).
    pub(crate) cpuset: Option<String>,
}

impl Container {
    pub(super) fn read(root: &FsRoot) -> Self {
        let (version, folders) = cpu_groups(root);
        let status = root.text("/proc/self/status").unwrap_or_default();
        Self {
            kind: detect_container(root),
            cgroup_version: version,
            cpu_max: version.map(|_| {
                smallest_quota(root, &folders).map_or_else(
                    || "max".to_owned(),
                    |quota| format!("{} {}", quota.0, quota.1),
                )
            }),
            memory_max_bytes: memory_max(root),
            cpuset: parse_field(&status, "Cpus_allowed_list").map(str::to_owned),
        }
    }
}

/// Number of processors that a `cpu.max` text allows; `None` for no limit.
pub(crate) fn parse_quota(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|&period| period > 0.0)?)
}

fn detect_container(root: &FsRoot) -> Option<String> {
    const MARKS: [(&str, &str); 4] = [
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
        ("/proc/sys/fs/binfmt_misc/WSLInterop", "wsl"),
    ];
    let marked = MARKS
        .iter()
        .find(|(mark, _)| root.exists(mark))
        .map(|(_, kind)| (*kind).to_owned());
    // systemd stores the kind of its container.
    marked.or_else(|| root.nonempty_text("/run/systemd/container"))
}

/// Version and folders of the groups that limit this process's processor time, innermost first.
pub(crate) fn cpu_groups(root: &FsRoot) -> (Option<u32>, Vec<String>) {
    find_groups(
        root,
        &["cpu", "cpu,cpuacct", "cpuacct,cpu"],
        "cpu.cfs_quota_us",
        "cpu.max",
    )
}

/// Groups of one controller.
///
/// Version 1 groups, in the folder of the first name, if one of them has the file `old`; otherwise version
/// 2 groups, if one of them has the file `new`.
fn find_groups(root: &FsRoot, names: &[&str], old: &str, new: &str) -> (Option<u32>, Vec<String>) {
    let text = root.text("/proc/self/cgroup").unwrap_or_default();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let version_1 = names.contains(&controllers);
        if !version_1 && !controllers.is_empty() {
            continue;
        }
        let (version, file, mounts) = if version_1 {
            (
                1,
                old,
                vec![
                    format!("{CGROUP_ROOT}/{controllers}"),
                    format!("{CGROUP_ROOT}/{}", names.first().unwrap_or(&"")),
                ],
            )
        } else {
            (
                2,
                new,
                vec![CGROUP_ROOT.to_owned(), format!("{CGROUP_ROOT}/unified")],
            )
        };
        for mount in mounts {
            let folders: Vec<_> = ancestors(path)
                .into_iter()
                .map(|path| format!("{mount}{path}"))
                .collect();
            if folders
                .iter()
                .any(|folder| root.exists(&format!("{folder}/{file}")))
            {
                return (Some(version), folders);
            }
        }
    }
    (None, Vec::new())
}

/// `/a/b`, `/a` and the root, which is empty.
///
/// In a container, the outer part of a version 1 path belongs to the host and does not exist; the root is
/// then the container's own group.
fn ancestors(path: &str) -> Vec<String> {
    let mut path = path.trim_end_matches('/');
    let mut paths = vec![path.to_owned()];
    while let Some((parent, _)) = path.rsplit_once('/') {
        paths.push(parent.to_owned());
        path = parent;
    }
    paths
}

/// Smallest quota relative to its period, both in µs.
fn smallest_quota(root: &FsRoot, folders: &[String]) -> Option<(u64, u64)> {
    let quotas = folders.iter().filter_map(|folder| {
        let (quota, period) = match root.nonempty_text(&format!("{folder}/cpu.max")) {
            Some(text) => {
                let (quota, period) = text.split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
            // Version 1 writes -1 for no limit, which does not parse as `u64`.
            None => (
                root.parse_number(&format!("{folder}/cpu.cfs_quota_us"))?,
                root.parse_number(&format!("{folder}/cpu.cfs_period_us"))?,
            ),
        };
        (period > 0).then_some((quota, period))
    });
    // Compared as scaled integers, to avoid floating point.
    quotas.min_by_key(|&(quota, period): &(u64, u64)| {
        u128::from(quota) * 1_000_000_000 / u128::from(period)
    })
}

fn memory_max(root: &FsRoot) -> Option<u64> {
    let (_, folders) = find_groups(root, &["memory"], "memory.limit_in_bytes", "memory.max");
    let total = root
        .text("/proc/meminfo")
        .and_then(|text| super::memory::meminfo_bytes(&text, "MemTotal"));
    let limits = folders.iter().filter_map(|folder| {
        let version_2 = root.parse_number::<u64>(&format!("{folder}/memory.max"));
        version_2.or_else(|| root.parse_number(&format!("{folder}/memory.limit_in_bytes")))
    });
    // Version 1 expresses "no limit" as a number above all memory.
    limits
        .filter(|&limit| total.is_none_or(|total| limit < total))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs_root::write_files;

    fn read_container(files: &[(&str, &str)]) -> Container {
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path(), files);
        Container::read(&FsRoot::new(folder.path()))
    }

    #[test]
    fn the_tightest_group_on_the_way_up_counts() {
        let container = read_container(&[
            ("/proc/self/cgroup", "0::/pod/box/inner\n"),
            ("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/pod/box/cpu.max", "40000 20000\n"),
            ("/sys/fs/cgroup/pod/box/inner/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/pod/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/pod/box/memory.max", "max\n"),
        ]);
        assert_eq!(container.cgroup_version, Some(2));
        assert_eq!(container.cpu_max.as_deref(), Some("150000 100000"));
        assert_eq!(container.memory_max_bytes, Some(1 << 30));
        assert_eq!(parse_quota("150000 100000"), Some(1.5));
    }

    #[test]
    fn version_1_has_the_same_values_in_other_files() {
        let container = read_container(&[
            (
                "/proc/self/cgroup",
                "5:memory:/docker/f00\n4:cpu,cpuacct:/docker/f00\n0::/\n",
            ),
            ("/proc/meminfo", "MemTotal: 4194304 kB\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            (
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("/.dockerenv", ""),
        ]);
        assert_eq!(container.cgroup_version, Some(1));
        assert_eq!(container.cpu_max.as_deref(), Some("50000 100000"));
        assert_eq!(container.memory_max_bytes, None);
        assert_eq!(container.kind.as_deref(), Some("docker"));
    }

    #[test]
    fn no_limit_is_max_and_unknown_is_null() {
        let unlimited = read_container(&[
            ("/proc/self/cgroup", "1:cpu:/\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(unlimited.cpu_max.as_deref(), Some("max"));
        assert_eq!(parse_quota("max"), None);
        assert_eq!(read_container(&[]), Container::default());
    }
}
