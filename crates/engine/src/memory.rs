//! Default memory limit of a query: a percentage of the memory available to the process.

use std::path::{Path, PathBuf};

/// Percentage of the process memory at which a query stops by default.
const PERCENT: u64 = 70;

/// Files in which Linux reports the control group of the process, and the limits of groups.
const CGROUP_FILE: &str = "/proc/self/cgroup";
const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// 70 % of the memory that this process may use, in bytes. This is the default of the command for
/// [`SessionOptions::memory_guard_bytes`](crate::limits::Limits::guard_bytes). `None` if the system does not
/// report its memory.
#[must_use]
pub fn memory_guard_bytes() -> Option<usize> {
    usize::try_from(process_memory_bytes()? / 100 * PERCENT).ok()
}

/// Memory available to this process, in bytes.
fn process_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| machine_memory_bytes(&text));
    let groups = std::fs::read_to_string(CGROUP_FILE).unwrap_or_default();
    let limit = cgroup_limit_bytes(&groups, Path::new(CGROUP_ROOT));
    machine.into_iter().chain(limit).min()
}

fn machine_memory_bytes(machine: &str) -> Option<u64> {
    Some(meminfo_kib(machine, "MemTotal:")? * 1024)
}

/// Parses a line such as `MemTotal:       24105600 kB` of `/proc/meminfo`.
fn meminfo_kib(machine: &str, name: &str) -> Option<u64> {
    let line = machine.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Minimum of the memory limits of a control group and its ancestors, in bytes.
fn cgroup_limit_bytes(groups: &str, root: &Path) -> Option<u64> {
    let limits = cgroup_limit_files(groups, root).filter_map(|file| {
        let limit = std::fs::read_to_string(file).ok()?;
        limit.trim().parse().ok()
    });
    limits.min()
}

/// Files with the memory limits of a process's control group and its ancestors: `0::/user.slice/x` in version 2,
/// `4:memory:/x` in version 1.
fn cgroup_limit_files(groups: &str, root: &Path) -> impl Iterator<Item = PathBuf> {
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
        // In a container the path may be relative to the host. The root is then the group itself.
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
        let limit = |groups: &str| cgroup_limit_bytes(groups, root.path());
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
            machine_memory_bytes("MemTotal:       100 kB\nMemFree: 5 kB\n"),
            Some(102_400)
        );
        assert_eq!(machine_memory_bytes("odd"), None);
    }
}
