//! How much memory a question may take where nothing is said: a part of what the process may have.

use std::path::Path;

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
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| total_bytes(&text));
    let groups = std::fs::read_to_string(OWN_GROUP).unwrap_or_default();
    let limit = group_limit_bytes(&groups, Path::new(GROUPS));
    let bytes = machine.into_iter().chain(limit).min()?;
    usize::try_from(bytes / 100 * PERCENT).ok()
}

/// `MemTotal:       24105600 kB` of the machine.
fn total_bytes(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The least limit of a group of processes and of those that it is in: `0::/user.slice/x` of version 2,
/// `4:memory:/x` of version 1.
fn group_limit_bytes(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (kinds, path) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let (root, file) = if kinds.is_empty() {
            (root.to_owned(), "memory.max")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return Vec::new();
        };
        // In a container the path may be that of the machine outside: the root is the group itself then.
        let group = root.join(path.trim_start_matches('/'));
        let around = group
            .ancestors()
            .take_while(|folder| folder.starts_with(&root));
        let limits = around.filter_map(|folder| std::fs::read_to_string(folder.join(file)).ok());
        limits
            .filter_map(|limit| limit.trim().parse().ok())
            .collect()
    });
    limits.min()
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
