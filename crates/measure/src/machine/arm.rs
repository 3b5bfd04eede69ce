//! Names for the numeric identifiers of ARM processors.

use crate::fs_root::parse_field;

/// Implementer codes (Arm Architecture Reference Manual, `MIDR_EL1.Implementer`; util-linux `lscpu-arm.c`).
const IMPLEMENTERS: [(u32, &str); 13] = [
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0xc0, "Ampere"),
];

/// Part numbers of ARM's own designs that are likely to run kernels (same sources).
const PARTS: [(u32, &str); 16] = [
    (0xd03, "Cortex-A53"),
    (0xd05, "Cortex-A55"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4f, "Neoverse-V2"),
    (0xd83, "Neoverse-V3AE"),
    (0xd84, "Neoverse-V3"),
];

/// Fields of an ARM kernel's `/proc/cpuinfo`.
pub(super) struct Identity {
    /// Name of the vendor, or its code.
    pub(super) vendor: Option<String>,
    /// Name of one of ARM's own designs.
    pub(super) design: Option<String>,
    /// Version of the architecture.
    pub(super) version: Option<u32>,
    /// Part number.
    pub(super) part: Option<u32>,
    /// `rNpM` as variant * 16 + revision.
    pub(super) revision: Option<u32>,
}

/// Parses the fields.
pub(super) fn identity(text: &str) -> Identity {
    let implementer = number(text, "CPU implementer");
    let part = number(text, "CPU part");
    let name = |table: &[(u32, &str)], code: Option<u32>| {
        table
            .iter()
            .find(|(number, _)| Some(*number) == code)
            .map(|(_, name)| (*name).to_owned())
    };
    let revision = || Some(number(text, "CPU variant")? * 16 + number(text, "CPU revision")?);
    Identity {
        vendor: name(&IMPLEMENTERS, implementer)
            .or_else(|| implementer.map(|code| format!("{code:#04x}"))),
        design: name(&PARTS, part).filter(|_| implementer == Some(0x41)),
        version: number(text, "CPU architecture"),
        part,
        revision: revision(),
    }
}

/// Parses a decimal number, or one with `0x`.
fn number(text: &str, key: &str) -> Option<u32> {
    let value = parse_field(text, key)?;
    match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}
