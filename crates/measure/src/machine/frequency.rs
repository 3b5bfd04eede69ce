//! How the clock of the cores is governed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::root::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// Limits of the clock and who sets it. All unknown in most virtual machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frequency {
    pub(crate) driver: Option<String>,
    /// Where cores differ, all that are in use: `performance+powersave`.
    pub(crate) governor: Option<String>,
    /// What the hardware's own governor is told to prefer (`energy_performance_preference`).
    pub(crate) preference: Option<String>,
    /// The clock that is promised under any load.
    pub(crate) nominal_khz: Option<u64>,
    pub(crate) min_khz: Option<u64>,
    /// The fastest core's.
    pub(crate) max_khz: Option<u64>,
    /// The clock may rise above the nominal one while it is cool enough.
    pub(crate) boost: Option<bool>,
}

impl Frequency {
    pub(super) fn read(root: &Root) -> Self {
        let policies: Vec<_> = root
            .names(&format!("{CPUS}/cpufreq"))
            .into_iter()
            .filter(|name| name.starts_with("policy"))
            .map(|name| format!("{CPUS}/cpufreq/{name}"))
            .collect();
        let words = |name: &str| {
            let words: BTreeSet<_> = policies
                .iter()
                .filter_map(|policy| root.word(&format!("{policy}/{name}")))
                .collect();
            (!words.is_empty()).then(|| words.into_iter().collect::<Vec<_>>().join("+"))
        };
        let numbers = |name: &str| {
            let numbers = policies
                .iter()
                .filter_map(|policy| root.number::<u64>(&format!("{policy}/{name}")));
            numbers.filter(|&khz| khz > 0).collect::<Vec<_>>()
        };
        let nominal = numbers("base_frequency").into_iter().max();
        Self {
            driver: words("scaling_driver"),
            governor: words("scaling_governor"),
            preference: words("energy_performance_preference"),
            nominal_khz: nominal.or_else(|| nominal_of_cpuid(root)),
            min_khz: numbers("cpuinfo_min_freq").into_iter().min(),
            max_khz: numbers("cpuinfo_max_freq").into_iter().max(),
            boost: boost(root),
        }
    }
}

/// Three drivers, three files: acpi-cpufreq and amd-pstate, intel_pstate (the other way round).
fn boost(root: &Root) -> Option<bool> {
    let bit = |path: &str| root.number::<u8>(&format!("{CPUS}/{path}"));
    bit("cpufreq/boost")
        .map(|on| on == 1)
        .or_else(|| bit("intel_pstate/no_turbo").map(|off| off == 0))
        .or_else(|| bit("cpufreq/policy0/boost").map(|on| on == 1))
}

/// CPUID leaf 0x16, which Intel has and a host may pass on.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn nominal_of_cpuid(root: &Root) -> Option<u64> {
    if !root.is_system() {
        return None;
    }
    let mhz = raw_cpuid::CpuId::new()
        .get_processor_frequency_info()?
        .processor_base_frequency();
    (mhz > 0).then_some(u64::from(mhz) * 1000)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
fn nominal_of_cpuid(_root: &Root) -> Option<u64> {
    None
}
