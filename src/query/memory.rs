//! How much memory a question may take where nothing is said: a part of what the process may have.

use std::path::{Path, PathBuf};

/// Percent of the memory of the process at which a query stops where nothing is said.
const PERCENT: u64 = 70;

/// Where the kernel says in which group of processes this one is, and where groups have their limits.
const OWN_GROUP: &str = "/proc/self/cgroup";
const GROUPS: &str = "/sys/fs/cgroup";

/// 70 % of the memory that this process may have, in bytes, for
/// [`SessionOptions::memory_guard_bytes`](super::SessionOptions::memory_guard_bytes): the command's default. `None`
/// where the system does not say what there is.
#[must_use]
pub fn memory_guard_bytes() -> Option<usize> {
    usize::try_from(of_process_bytes()? / 100 * PERCENT).ok()
}

/// The memory that this process may have.
fn of_process_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| total_bytes(&text));
    let groups = std::fs::read_to_string(OWN_GROUP).unwrap_or_default();
    let limit = group_limit_bytes(&groups, Path::new(GROUPS));
    machine.into_iter().chain(limit).min()
}

fn total_bytes(machine: &str) -> Option<u64> {
    Some(kib(machine, "MemTotal:")? * 1024)
}

/// `MemTotal:       24105600 kB` of the machine.
fn kib(machine: &str, name: &str) -> Option<u64> {
    let line = machine.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The least limit of a group of processes and of those that it is in.
fn group_limit_bytes(groups: &str, root: &Path) -> Option<u64> {
    let limits = limit_files(groups, root).filter_map(|file| {
        let limit = std::fs::read_to_string(file).ok()?;
        limit.trim().parse().ok()
    });
    limits.min()
}

/// The files that have the limits of the group of a process and of those that it is in: `0::/user.slice/x` of version 2,
/// `4:memory:/x` of version 1.
fn limit_files(groups: &str, root: &Path) -> impl Iterator<Item = PathBuf> {
    groups.lines().flat_map(move |line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (kinds, path) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let (root, limit) = if kinds.is_empty() {
            (root.to_owned(), "memory.max")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return Vec::new();
        };
        // In a container the path may be that of the machine outside: the root is the group itself then.
        let group = root.join(path.trim_start_matches('/'));
        let groups = group.ancestors();
        let groups = groups.take_while(|folder| folder.starts_with(&root));
        groups.map(|folder| folder.join(limit)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_the_groups_around_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| group_limit_bytes(groups, root.path());
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        assert_eq!(limit("0::/a/b\n"), None);
        write("a/memory.max", "4096\n");
        assert_eq!(limit("0::/a/b\n"), Some(4096));
        write("a/b/memory.max", "1024\n");
        assert_eq!(limit("0::/a/b\n"), Some(1024));
        assert_eq!(limit("0::/elsewhere\n"), None);
        write("memory/x/memory.limit_in_bytes", "2048\n");
        assert_eq!(limit("5:cpu,memory:/x\n4:cpu:/y\n"), Some(2048));
    }

    #[test]
    fn memory_of_the_machine_is_read() {
        assert_eq!(
            total_bytes("MemTotal:       100 kB\nMemFree: 5 kB\n"),
            Some(102_400)
        );
        assert_eq!(total_bytes("odd"), None);
    }
}
