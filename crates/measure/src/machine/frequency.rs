//! Clock governor and limits of the cores.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::fs_root::FsRoot;

const CPUS: &str = "/sys/devices/system/cpu";

/// Clock limits and governor. All unknown in most virtual machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frequency {
    pub(crate) driver: Option<String>,
    /// Governors in use; several if cores differ: `performance+powersave`.
    pub(crate) governor: Option<String>,
    /// Energy preference of the hardware governor (`energy_performance_preference`).
    pub(crate) preference: Option<String>,
    /// Guaranteed clock under any load.
    pub(crate) nominal_khz: Option<u64>,
    pub(crate) min_khz: Option<u64>,
    /// Maximum clock of the fastest core.
    pub(crate) max_khz: Option<u64>,
    /// Whether the clock may exceed the nominal one while the processor is cool enough.
    pub(crate) boost: Option<bool>,
}

impl Frequency {
    pub(super) fn read(root: &FsRoot) -> Self {
        let policies: Vec<_> = root
            .entry_names(&format!("{CPUS}/cpufreq"))
            .into_iter()
            .filter(|name| name.starts_with("policy"))
            .map(|name| format!("{CPUS}/cpufreq/{name}"))
            .collect();
        let words = |name: &str| {
            let words: BTreeSet<_> = policies
                .iter()
                .filter_map(|policy| root.nonempty_text(&format!("{policy}/{name}")))
                .collect();
            (!words.is_empty()).then(|| words.into_iter().collect::<Vec<_>>().join("+"))
        };
        let numbers = |name: &str| {
            let numbers = policies
                .iter()
                .filter_map(|policy| root.parse_number::<u64>(&format!("{policy}/{name}")));
            numbers.filter(|&khz| khz > 0).collect::<Vec<_>>()
        };
        let nominal = numbers("base_frequency").into_iter().max();
        Self {
            driver: words("scaling_driver"),
            governor: words("scaling_governor"),
            preference: words("energy_performance_preference"),
            nominal_khz: nominal.or_else(|| cpuid_nominal_khz(root)),
            min_khz: numbers("cpuinfo_min_freq").into_iter().min(),
            max_khz: numbers("cpuinfo_max_freq").into_iter().max(),
            boost: read_boost(root),
        }
    }
}

/// Depends on the driver: acpi-cpufreq and amd-pstate use one file each, intel_pstate another with inverted
/// meaning.
fn read_boost(root: &FsRoot) -> Option<bool> {
    let bit = |path: &str| root.parse_number::<u8>(&format!("{CPUS}/{path}"));
    bit("cpufreq/boost")
        .map(|on| on == 1)
        .or_else(|| bit("intel_pstate/no_turbo").map(|off| off == 0))
        .or_else(|| bit("cpufreq/policy0/boost").map(|on| on == 1))
}

/// CPUID leaf 0x16, available on Intel processors unless the host hides it.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn cpuid_nominal_khz(root: &FsRoot) -> Option<u64> {
    if !root.is_system() {
        return None;
    }
    let mhz = raw_cpuid::CpuId::new()
        .get_processor_frequency_info()?
        .processor_base_frequency();
    (mhz > 0).then_some(u64::from(mhz) * 1000)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
fn cpuid_nominal_khz(_root: &FsRoot) -> Option<u64> {
    None
}
