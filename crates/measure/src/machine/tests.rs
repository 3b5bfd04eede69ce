//! Records of known machines, and of the machine that runs the tests.

use std::collections::BTreeSet;

use super::fixtures::{amd_virtual, arm_nameless, intel_two_sockets};
use super::*;

#[test]
fn two_sockets_of_bare_metal_are_counted() {
    let machine = Machine::read_at(&intel_two_sockets().root());
    let topology = &machine.topology;
    assert_eq!(
        (topology.sockets, topology.cores, topology.threads),
        (Some(2), Some(4), Some(8))
    );
    assert_eq!(
        (topology.numa_nodes, topology.smt_active),
        (Some(2), Some(true))
    );
    assert_eq!(
        topology.data_caches(),
        [
            (1, Some(48 << 10)),
            (2, Some(1280 << 10)),
            (3, Some(48 << 20))
        ]
    );
    let last = topology.caches.last().unwrap();
    assert_eq!(
        (last.shared_by, last.count, last.line_bytes),
        (Some(4), 2, Some(64))
    );
    assert_eq!(
        machine.processor.brand.as_deref(),
        Some("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz")
    );
    assert_eq!(machine.processor.isa_level.as_deref(), Some("x86-64-v4"));
    assert_eq!(machine.processor.hypervisor.as_deref(), Some("none"));
    assert_eq!(machine.processor.core_kinds, Some(1));
    assert_eq!(
        machine.frequency.governor.as_deref(),
        Some("performance+powersave")
    );
    assert_eq!(
        (machine.frequency.nominal_khz, machine.frequency.boost),
        (Some(2_000_000), Some(true))
    );
    assert_eq!(machine.memory.huge_pages, Some(60));
    assert_eq!(
        machine.memory.transparent_huge_pages.as_deref(),
        Some("always")
    );
    assert_eq!(machine.product.as_deref(), Some("Maker Inc. Server 650"));
    assert!(!machine.to_json().contains("SECRET"));
}

#[test]
fn a_virtual_machine_is_marked_and_has_null_clocks() {
    let machine = Machine::read_at(&amd_virtual().root());
    assert_eq!(machine.processor.hypervisor.as_deref(), Some("unknown"));
    assert_eq!(
        (machine.processor.family, machine.processor.model),
        (Some(25), Some(17))
    );
    assert_eq!(machine.processor.invariant_tsc, Some(true));
    assert_eq!(
        (machine.topology.cores, machine.topology.threads),
        (Some(2), Some(2))
    );
    assert_eq!(
        machine.topology.data_caches(),
        [(1, Some(32 << 10)), (3, Some(32 << 20))]
    );
    assert_eq!(machine.frequency, Frequency::default());
    assert_eq!(machine.product, None);
    let text = machine.to_json();
    assert!(text.contains("\"governor\": null") && text.contains("\"max_khz\": null"));
}

#[test]
fn an_arm_processor_is_named_by_its_numbers() {
    let machine = Machine::read_at(&arm_nameless().root());
    let processor = &machine.processor;
    assert_eq!(
        (processor.vendor.as_deref(), processor.brand.as_deref()),
        (Some("ARM"), Some("Neoverse-V1"))
    );
    assert_eq!(
        (processor.family, processor.model, processor.stepping),
        (Some(8), Some(0xd40), Some(17))
    );
    assert_eq!(processor.isa_level.as_deref(), Some("armv8"));
    assert_eq!(
        processor.vector_extensions,
        ["asimd", "asimddp", "asimdhp", "sve"]
    );
    // Without sysfs, threads are still counted, and other facts are unknown.
    assert_eq!(
        (machine.topology.threads, machine.topology.cores),
        (Some(4), None)
    );
}

#[test]
fn a_hybrid_has_cores_of_two_kinds() {
    let fixture = arm_nameless();
    fixture.write(
        "/proc/cpuinfo",
        "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd05\n\nprocessor : 1\nCPU implementer : 0x41\nCPU part : 0xd0b\n\n",
    );
    assert_eq!(
        Machine::read_at(&fixture.root()).processor.core_kinds,
        Some(2)
    );
}

#[test]
fn an_empty_system_is_all_null() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::read_at(&FsRoot::new(folder.path()));
    let texts: BTreeSet<_> = strings(&serde_json::to_value(&machine).unwrap())
        .into_iter()
        .collect();
    let expected = [
        std::env::consts::ARCH.to_owned(),
        std::env::consts::OS.to_owned(),
    ];
    assert_eq!(texts, expected.into_iter().collect());
    assert!(!machine.to_json().contains(": 0"));
}

#[test]
fn the_record_comes_back_from_its_text() {
    let mut machine = Machine::read();
    machine.toolchain = Some(Toolchain::new(
        std::path::Path::new("/usr/bin/cc"),
        "cc 1\n",
        &["-O3".to_owned()],
    ));
    machine
        .gpus
        .push(serde_json::json!({"name": "G", "power_limit_w": 700.5}));
    let again: Machine = serde_json::from_str(&machine.to_json()).unwrap();
    assert_eq!(again, machine);
}

#[test]
fn the_record_does_not_change_by_itself() {
    let before = Machine::read().to_json();
    // The computation changes load, clocks, free memory and times.
    let busy = (0..40_000_000_u64).fold(0, |sum: u64, number| {
        sum.wrapping_mul(31).wrapping_add(number)
    });
    std::thread::sleep(std::time::Duration::from_millis(300 + busy % 2));
    assert_eq!(Machine::read().to_json(), before);
}

/// All strings in `value`, without keys.
fn strings(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(values) => values.iter().flat_map(strings).collect(),
        serde_json::Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Texts that identify this machine or its user.
fn identities() -> Vec<String> {
    let root = FsRoot::system();
    let mut private_texts: Vec<String> = [
        "/proc/sys/kernel/hostname",
        "/etc/hostname",
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/proc/sys/kernel/random/boot_id",
        "/sys/class/dmi/id/product_serial",
        "/sys/class/dmi/id/product_uuid",
        "/sys/class/dmi/id/board_serial",
        "/sys/class/dmi/id/chassis_serial",
    ]
    .into_iter()
    .filter_map(|path| root.nonempty_text(path))
    .collect();
    private_texts.extend(
        ["USER", "LOGNAME", "HOME", "HOSTNAME"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok()),
    );
    for interface in root.entry_names("/sys/class/net") {
        private_texts.extend(
            root.nonempty_text(&format!("/sys/class/net/{interface}/address"))
                .filter(|mac| mac != "00:00:00:00:00:00"),
        );
    }
    // Local IPv4 and IPv6 addresses, without loopback.
    let table = root.text("/proc/net/fib_trie").unwrap_or_default();
    let addresses = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix("|-- "));
    private_texts.extend(
        addresses
            .filter(|address| !address.starts_with("127.") && *address != "0.0.0.0")
            .map(str::to_owned),
    );
    let table = root.text("/proc/net/if_inet6").unwrap_or_default();
    private_texts.extend(
        table
            .lines()
            .filter_map(|line| Some(line.split_ascii_whitespace().next()?.to_owned())),
    );
    private_texts.retain(|text| text.len() > 1 && text != "(none)");
    private_texts
}

/// Returns whether `text` contains `identity`. A short identity must be a whole word (`vm` is in `kvm`).
fn has_identity(text: &str, identity: &str) -> bool {
    let (text, identity) = (text.to_lowercase(), identity.to_lowercase());
    if identity.len() >= 6 {
        return text.contains(&identity);
    }
    text.split(|character: char| !character.is_alphanumeric())
        .any(|word| word == identity)
}

#[test]
fn the_record_names_neither_host_nor_user() {
    let mut machine = Machine::read();
    let home = std::env::var("HOME").unwrap_or_default();
    let path = std::path::PathBuf::from(&home).join("bin/cc");
    machine.toolchain = Some(Toolchain::new(
        &path,
        "cc 1",
        &[format!("-I{home}/include")],
    ));
    let identities = identities();
    assert!(identities.len() >= 2, "nothing to look for: {identities:?}");
    for text in strings(&serde_json::to_value(&machine).unwrap()) {
        for identity in &identities {
            assert!(
                !has_identity(&text, identity),
                "`{text}` has `{identity}` in it"
            );
        }
    }
}

#[test]
fn the_search_for_identities_finds_them() {
    assert!(has_identity("linux on vm", "VM") && !has_identity("kvm", "vm"));
    assert!(has_identity("at 10.20.30.40:80", "10.20.30.40"));
}
