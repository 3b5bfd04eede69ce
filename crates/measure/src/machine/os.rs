//! Kernel, distribution, C library, and kernel settings that affect timings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fs_root::{FsRoot, format_cpus, parse_cpus};

/// The operating system. Of the kernel's command line only the two settings below are included, because
/// others can contain disk names and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct System {
    /// `linux`, `macos`, ...
    pub(crate) kind: String,
    /// Release of the kernel.
    pub(crate) kernel: Option<String>,
    /// `debian 12`.
    pub(crate) distribution: Option<String>,
    /// `glibc 2.36`, `musl`.
    pub(crate) libc: Option<String>,
    pub(crate) clocksource: Option<String>,
    /// Address space layout randomization: 0 off, 1 without the heap, 2 full.
    pub(crate) aslr: Option<u32>,
    pub(crate) perf_event_paranoid: Option<i32>,
    /// Value of `mitigations=` in the kernel's command line.
    pub(crate) mitigations_setting: Option<String>,
    /// Kernel's status of each processor vulnerability that affects it.
    pub(crate) mitigations: BTreeMap<String, String>,
    /// Processors isolated from the scheduler; an empty list if there are none.
    pub(crate) isolated_cpus: Option<String>,
    /// Processors without a timer tick while one task runs.
    pub(crate) nohz_full_cpus: Option<String>,
}

impl System {
    pub(super) fn read(root: &FsRoot) -> Self {
        let command_line = root.text("/proc/cmdline").unwrap_or_default();
        let cpus = |name: &str| {
            let text = root.text(&format!("/sys/devices/system/cpu/{name}"))?;
            // The kernel prints `(null)` for a list that was never set.
            Some(parse_cpus(&text).map_or_else(String::new, |cpus| format_cpus(&cpus)))
        };
        Self {
            kind: std::env::consts::OS.to_owned(),
            kernel: root.nonempty_text("/proc/sys/kernel/osrelease"),
            distribution: read_distribution(root),
            libc: read_libc_version(root),
            clocksource: root
                .nonempty_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            aslr: root.parse_number("/proc/sys/kernel/randomize_va_space"),
            perf_event_paranoid: root.parse_number("/proc/sys/kernel/perf_event_paranoid"),
            mitigations_setting: command_line
                .split_ascii_whitespace()
                .find_map(|word| Some(word.strip_prefix("mitigations=")?.to_owned())),
            mitigations: read_mitigations(root),
            isolated_cpus: cpus("isolated"),
            nohz_full_cpus: cpus("nohz_full"),
        }
    }
}

fn read_distribution(root: &FsRoot) -> Option<String> {
    let text = root
        .text("/etc/os-release")
        .or_else(|| root.text("/usr/lib/os-release"))?;
    let value = |key: &str| {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.map(|value| value.trim_matches(['"', '\'']))
    };
    let id = value("ID")?;
    Some(value("VERSION_ID").map_or_else(|| id.to_owned(), |version| format!("{id} {version}")))
}

fn read_mitigations(root: &FsRoot) -> BTreeMap<String, String> {
    const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";
    let names = root.entry_names(FOLDER).into_iter();
    let texts =
        names.filter_map(|name| Some((root.nonempty_text(&format!("{FOLDER}/{name}"))?, name)));
    texts
        .filter(|(text, _)| text != "Not affected")
        .map(|(text, name)| (name, text))
        .collect()
}

/// C library of this program, which is also that of the kernels it loads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn read_libc_version(root: &FsRoot) -> Option<String> {
    root.is_system()
        .then(crate::syscalls::libc_version)
        .flatten()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn read_libc_version(_root: &FsRoot) -> Option<String> {
    cfg!(target_env = "musl").then(|| "musl".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs_root::write_files;

    #[test]
    fn only_mitigations_of_the_kernel_command_line_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        write_files(
            folder.path(),
            &[
                (
                    "/proc/cmdline",
                    "root=UUID=1234 mitigations=off ip=10.0.0.7\n",
                ),
                ("/sys/devices/system/cpu/nohz_full", "(null)\n"),
                ("/sys/devices/system/cpu/isolated", "2-3\n"),
                (
                    "/sys/devices/system/cpu/vulnerabilities/mds",
                    "Not affected\n",
                ),
                (
                    "/sys/devices/system/cpu/vulnerabilities/spectre_v1",
                    "Vulnerable\n",
                ),
                (
                    "/etc/os-release",
                    "NAME=\"X\"\nVERSION_ID=\"12\"\nID=debian\n",
                ),
            ],
        );
        let system = System::read(&FsRoot::new(folder.path()));
        assert_eq!(system.mitigations_setting.as_deref(), Some("off"));
        assert_eq!(system.nohz_full_cpus.as_deref(), Some(""));
        assert_eq!(system.isolated_cpus.as_deref(), Some("2-3"));
        assert_eq!(system.distribution.as_deref(), Some("debian 12"));
        assert_eq!(system.mitigations.len(), 1);
        assert!(!serde_json::to_string(&system).unwrap().contains("10.0.0.7"));
    }
}
