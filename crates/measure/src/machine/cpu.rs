//! Identification of the processor, from `/proc/cpuinfo` and CPUID.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::arm;
use crate::fs_root::{FsRoot, parse_field};

/// Identification of the processor. In a virtual machine the host can change all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Target architecture of this program: `x86_64`, `aarch64`.
    pub architecture: String,
    /// `GenuineIntel`, `AuthenticAMD`.
    pub vendor: Option<String>,
    /// `AMD EPYC 7452 32-Core Processor`.
    pub brand: Option<String>,
    /// On ARM: version of the architecture, part number, and `rNpM` as variant * 16 + revision.
    pub family: Option<u32>,
    /// Model number. With `family` and `stepping` it identifies the processor type in CPUID.
    pub model: Option<u32>,
    /// See `model`.
    pub stepping: Option<u32>,
    /// Version of the microcode, in hex.
    pub microcode: Option<String>,
    /// XXH3-64 in hex of the sorted feature flags, separated by spaces.
    pub flags_hash: Option<String>,
    /// `x86-64-v3`, `armv8`.
    pub isa_level: Option<String>,
    /// The vector extensions among the flags, sorted.
    pub vector_extensions: Vec<String>,
    /// Number of core types: above 1 on hybrid processors.
    pub core_kinds: Option<u32>,
    /// `kvm`, `vmware`, ...; `none` if there is none; `unknown` if it has no name.
    pub hypervisor: Option<String>,
    /// Whether the time stamp counter has a constant rate.
    pub invariant_tsc: Option<bool>,
}

impl Processor {
    pub(super) fn read(root: &FsRoot) -> Self {
        let text = root.text("/proc/cpuinfo").unwrap_or_default();
        let mut processor = Self::parse(&text);
        if root.is_system() {
            processor.hypervisor = cpuid_hypervisor().or(processor.hypervisor);
        }
        if let Some(kind) = root.nonempty_text("/sys/hypervisor/type") {
            processor.hypervisor = Some(kind);
        }
        // CPUID reports one model for Intel hybrid processors; the kernel lists their core types
        // separately.
        let hybrid =
            root.exists("/sys/devices/cpu_core/cpus") && root.exists("/sys/devices/cpu_atom/cpus");
        if hybrid {
            processor.core_kinds = processor.core_kinds.max(Some(2));
        }
        processor
    }

    /// Parses `/proc/cpuinfo` of either architecture.
    pub(super) fn parse(text: &str) -> Self {
        let field = |key| {
            parse_field(text, key)
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
        };
        let flags: BTreeSet<&str> = parse_field(text, "flags")
            .or_else(|| parse_field(text, "Features"))
            .unwrap_or_default()
            .split_ascii_whitespace()
            .collect();
        let mut processor = Self {
            architecture: std::env::consts::ARCH.to_owned(),
            vendor: field("vendor_id"),
            brand: field("model name"),
            family: field("cpu family").and_then(|value| value.parse().ok()),
            model: field("model").and_then(|value| value.parse().ok()),
            stepping: field("stepping").and_then(|value| value.parse().ok()),
            microcode: field("microcode"),
            flags_hash: hash_flags(&flags),
            vector_extensions: vector_flags(&flags),
            core_kinds: count_core_types(text),
            ..Self::default()
        };
        if text.contains("CPU implementer") {
            processor.set_arm_names(arm::identity(text));
        } else if flags.contains("lm") {
            processor.isa_level = Some(x86_level(&flags).to_owned());
            let guest = flags.contains("hypervisor");
            processor.hypervisor = Some(if guest { "unknown" } else { "none" }.to_owned());
            let even = flags.contains("constant_tsc") && flags.contains("nonstop_tsc");
            processor.invariant_tsc = Some(even);
        }
        processor
    }

    /// Sets the fields reported by an ARM kernel.
    fn set_arm_names(&mut self, identity: arm::Identity) {
        self.vendor = identity.vendor;
        self.brand = self.brand.take().or(identity.design);
        self.family = identity.version;
        self.model = identity.part;
        self.stepping = identity.revision;
        self.isa_level = identity.version.map(|version| format!("armv{version}"));
    }
}

fn hash_flags(flags: &BTreeSet<&str>) -> Option<String> {
    let joined = flags.iter().copied().collect::<Vec<_>>().join(" ");
    (!flags.is_empty()).then(|| format!("{:016x}", XxHash3_64::oneshot(joined.as_bytes())))
}

/// Flags of vector and matrix units, which determine the code that a compiler can generate.
fn vector_flags(flags: &BTreeSet<&str>) -> Vec<String> {
    const BEGINNINGS: [&str; 4] = ["avx", "amx", "sve", "asimd"];
    const NAMES: [&str; 7] = ["fma", "f16c", "sse4_1", "sse4_2", "bf16", "i8mm", "fphp"];
    // `sme` is a matrix unit on ARM. On x86, `sme` is memory encryption and `smep` a protection.
    let arm = flags.contains("asimd");
    let is_vector = |flag: &str| {
        NAMES.contains(&flag)
            || BEGINNINGS.iter().any(|start| flag.starts_with(start))
            || (arm && flag.starts_with("sme"))
    };
    flags
        .iter()
        .filter(|flag| is_vector(flag))
        .map(|flag| (*flag).to_owned())
        .collect()
}

/// Level of the x86-64 psABI (table "micro-architecture levels"), from the kernel's flag names.
///
/// `lahf_lm` is LAHF-SAHF, `abm` is LZCNT, `pni` is SSE3. OSXSAVE is implied, because the kernel hides AVX
/// without it.
fn x86_level(flags: &BTreeSet<&str>) -> &'static str {
    const LEVELS: [(&str, &[&str]); 3] = [
        (
            "x86-64-v2",
            &[
                "cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2",
            ],
        ),
        (
            "x86-64-v3",
            &[
                "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave",
            ],
        ),
        (
            "x86-64-v4",
            &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
        ),
    ];
    let reached = LEVELS
        .iter()
        .take_while(|(_, needed)| needed.iter().all(|flag| flags.contains(flag)));
    reached.last().map_or("x86-64-v1", |(level, _)| level)
}

/// Number of different core types in `/proc/cpuinfo`.
fn count_core_types(text: &str) -> Option<u32> {
    let identity = [
        "vendor_id",
        "cpu family",
        "model",
        "stepping",
        "CPU implementer",
        "CPU variant",
        "CPU part",
        "CPU revision",
    ];
    let kinds: BTreeSet<Vec<Option<&str>>> = text
        .split("\n\n")
        .filter(|block| parse_field(block, "processor").is_some())
        .map(|block| identity.iter().map(|key| parse_field(block, key)).collect())
        .collect();
    u32::try_from(kinds.len()).ok().filter(|&count| count > 0)
}

/// Name of the hypervisor in CPUID leaf 0x4000_0000.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn cpuid_hypervisor() -> Option<String> {
    use raw_cpuid::{CpuId, Hypervisor};
    let cpuid = CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return Some("none".to_owned());
    }
    let name = match cpuid.get_hypervisor_info()?.identify() {
        Hypervisor::KVM => "kvm",
        Hypervisor::Xen => "xen",
        Hypervisor::VMware => "vmware",
        Hypervisor::HyperV => "hyper-v",
        Hypervisor::QEMU => "qemu",
        Hypervisor::Bhyve => "bhyve",
        Hypervisor::QNX => "qnx",
        Hypervisor::ACRN => "acrn",
        Hypervisor::Unknown(..) => "unknown",
    };
    Some(name.to_owned())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
fn cpuid_hypervisor() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_the_psabi() {
        let v2 = "lm cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2";
        let v3 = format!("{v2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave");
        let v4 = format!("{v3} avx512f avx512bw avx512cd avx512dq avx512vl");
        // All flags of v4, without one flag of v2.
        let gap = v4.replace("popcnt ", "");
        for (flags, level) in [("lm", 1), (v2, 2), (&v3, 3), (&v4, 4), (&gap, 1)] {
            let processor = Processor::parse(&format!("processor: 0\nflags\t: {flags}\n"));
            assert_eq!(processor.isa_level.unwrap(), format!("x86-64-v{level}"));
        }
    }

    #[test]
    fn vector_flags_differ_from_similar_flags() {
        let vector_extensions =
            |flags: &str| Processor::parse(&format!("flags : {flags}")).vector_extensions;
        assert_eq!(
            vector_extensions("lm smep sme sse sse4_2 avx512f fma vaes"),
            ["avx512f", "fma", "sse4_2"]
        );
        assert_eq!(
            vector_extensions("fp asimd sme2 sve aes"),
            ["asimd", "sme2", "sve"]
        );
    }

    #[test]
    fn the_order_of_the_flags_does_not_matter_to_their_hash() {
        let flags_hash = |flags: &str| Processor::parse(&format!("flags : {flags}")).flags_hash;
        assert_eq!(flags_hash("lm avx fma"), flags_hash("fma  lm avx"));
        assert_ne!(flags_hash("lm avx fma"), flags_hash("lm avx"));
        assert_eq!(flags_hash(""), None);
    }

    #[test]
    fn missing_facts_are_null() {
        let architecture = std::env::consts::ARCH.to_owned();
        assert_eq!(
            Processor::parse(""),
            Processor {
                architecture,
                ..Processor::default()
            }
        );
    }
}
