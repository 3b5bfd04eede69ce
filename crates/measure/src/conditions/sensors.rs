//! Clocks, heat and power, as the drivers of the processor report them.

use std::collections::BTreeMap;

use crate::root::{Root, field};

/// A file of the core's clock.
pub(super) fn cpufreq(core: usize, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{core}/cpufreq/{name}")
}

/// The clock that the core runs at, in kHz.
pub(super) fn clock(root: &Root, core: usize) -> Option<u64> {
    root.number(&cpufreq(core, "scaling_cur_freq")).or_else(|| {
        let text = root.text("/proc/cpuinfo")?;
        let block = text
            .split("\n\n")
            .find(|block| field(block, "processor") == Some(&core.to_string()))?;
        // `2596.148` MHz: three decimals are kHz.
        field(block, "cpu MHz")?.replace('.', "").parse().ok()
    })
}

/// Sensors of processors by their drivers' names; others (disks, boards) say nothing about timings.
pub(super) fn temperatures(root: &Root) -> BTreeMap<String, i64> {
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
    for chip in root.names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{chip}");
        let Some(name) = root
            .word(&format!("{folder}/name"))
            .filter(|name| SENSORS.contains(&name.as_str()))
        else {
            continue;
        };
        for file in root
            .names(&folder)
            .iter()
            .filter(|file| file.starts_with("temp") && file.ends_with("_input"))
        {
            note(name.clone(), root.number(&format!("{folder}/{file}")));
        }
    }
    for zone in root.names("/sys/class/thermal") {
        let kind = root.word(&format!("/sys/class/thermal/{zone}/type"));
        if let Some(name) = kind.filter(|name| SENSORS.contains(&name.as_str())) {
            note(
                name,
                root.number(&format!("/sys/class/thermal/{zone}/temp")),
            );
        }
    }
    hottest
}

/// Throttling events of all cores and packages; only Intel's processors count them.
pub(super) fn throttles(root: &Root) -> Option<u64> {
    let counts = root
        .names("/sys/devices/system/cpu")
        .into_iter()
        .flat_map(|cpu| {
            let folder = format!("/sys/devices/system/cpu/{cpu}/thermal_throttle");
            ["core_throttle_count", "package_throttle_count"]
                .into_iter()
                .filter_map(|name| root.number::<u64>(&format!("{folder}/{name}")))
                .collect::<Vec<_>>()
        });
    counts.reduce(u64::saturating_add)
}

/// Steps of the cooling devices that slow the processor (fans are others).
pub(super) fn cooling(root: &Root) -> Option<u64> {
    let steps = root
        .names("/sys/class/thermal")
        .into_iter()
        .filter_map(|name| {
            let kind = root.word(&format!("/sys/class/thermal/{name}/type"))?;
            let slows = kind == "Processor" || kind.starts_with("cpufreq");
            // -1 is a device that is off.
            slows.then(|| root.number::<u64>(&format!("/sys/class/thermal/{name}/cur_state")))?
        });
    steps.reduce(u64::saturating_add)
}

/// A battery that discharges; `None` without a battery: then nobody tells.
pub(super) fn battery(root: &Root) -> Option<bool> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let batteries = root.names(SUPPLIES).into_iter().filter_map(|name| {
        let of = |file: &str| root.word(&format!("{SUPPLIES}/{name}/{file}"));
        // Those of mice and keyboards have the scope `Device`.
        let own = of("type")? == "Battery" && of("scope").as_deref() != Some("Device");
        own.then(|| of("status"))?
    });
    batteries
        .map(|status| status == "Discharging")
        .reduce(|one, other| one || other)
}
