//! Clock, temperature and power sensors, as reported by the processor's drivers.

use std::collections::BTreeMap;

use crate::fs_root::{FsRoot, parse_field};

/// Path of a `cpufreq` file of the core.
pub(super) fn cpufreq_path(core: usize, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{core}/cpufreq/{name}")
}

/// Current clock of the core, in kHz.
pub(super) fn clock_limit_or_current(root: &FsRoot, core: usize) -> Option<u64> {
    root.parse_number(&cpufreq_path(core, "scaling_cur_freq"))
        .or_else(|| {
            let text = root.text("/proc/cpuinfo")?;
            let block = text
                .split("\n\n")
                .find(|block| parse_field(block, "processor") == Some(&core.to_string()))?;
            // `2596.148` MHz has three decimals, so removing the point gives kHz.
            parse_field(block, "cpu MHz")?.replace('.', "").parse().ok()
        })
}

/// Sensors of processors, by driver name. Other sensors (disks, boards) are irrelevant for timings.
pub(super) fn read_temperatures(root: &FsRoot) -> BTreeMap<String, i64> {
    const SENSORS: [&str; 7] = [
        "coretemp",
        "k10temp",
        "zenpower",
        "cpu_thermal",
        "cpu-thermal",
        "x86_pkg_temp",
        "scpi_sensors",
    ];
    let mut hottest: BTreeMap<String, i64> = BTreeMap::new();
    let mut note = |name: String, reading: Option<i64>| {
        if let Some(reading) = reading {
            let entry = hottest.entry(name).or_insert(reading);
            *entry = reading.max(*entry);
        }
    };
    for chip in root.entry_names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{chip}");
        let Some(name) = root
            .nonempty_text(&format!("{folder}/name"))
            .filter(|name| SENSORS.contains(&name.as_str()))
        else {
            continue;
        };
        for file in root
            .entry_names(&folder)
            .iter()
            .filter(|file| file.starts_with("temp") && file.ends_with("_input"))
        {
            note(name.clone(), root.parse_number(&format!("{folder}/{file}")));
        }
    }
    for zone in root.entry_names("/sys/class/thermal") {
        let kind = root.nonempty_text(&format!("/sys/class/thermal/{zone}/type"));
        if let Some(name) = kind.filter(|name| SENSORS.contains(&name.as_str())) {
            note(
                name,
                root.parse_number(&format!("/sys/class/thermal/{zone}/temp")),
            );
        }
    }
    hottest
}

/// Throttling events of all cores and packages. Only Intel processors count them.
pub(super) fn throttle_count(root: &FsRoot) -> Option<u64> {
    let counts = root
        .entry_names("/sys/devices/system/cpu")
        .into_iter()
        .flat_map(|cpu| {
            let folder = format!("/sys/devices/system/cpu/{cpu}/thermal_throttle");
            ["core_throttle_count", "package_throttle_count"]
                .into_iter()
                .filter_map(|name| root.parse_number::<u64>(&format!("{folder}/{name}")))
                .collect::<Vec<_>>()
        });
    counts.reduce(u64::saturating_add)
}

/// Sum of the states of cooling devices that slow the processor; fans are excluded.
pub(super) fn cooling_steps(root: &FsRoot) -> Option<u64> {
    let steps = root
        .entry_names("/sys/class/thermal")
        .into_iter()
        .filter_map(|name| {
            let kind = root.nonempty_text(&format!("/sys/class/thermal/{name}/type"))?;
            let slows = kind == "Processor" || kind.starts_with("cpufreq");
            // -1 is a disabled device.
            slows.then(|| {
                root.parse_number::<u64>(&format!("/sys/class/thermal/{name}/cur_state"))
            })?
        });
    steps.reduce(u64::saturating_add)
}

/// Returns whether a battery is discharging; `None` without a battery.
pub(super) fn on_battery(root: &FsRoot) -> Option<bool> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let batteries = root.entry_names(SUPPLIES).into_iter().filter_map(|name| {
        let read_file = |file: &str| root.nonempty_text(&format!("{SUPPLIES}/{name}/{file}"));
        // Batteries of mice and keyboards have the scope `Device`.
        let is_machine_battery =
            read_file("type")? == "Battery" && read_file("scope").as_deref() != Some("Device");
        is_machine_battery.then(|| read_file("status"))?
    });
    batteries
        .map(|status| status == "Discharging")
        .reduce(|one, other| one || other)
}
