//! What is known of the machine that measures: facts that stay while it runs.
//!
//! Reads `/proc`, `/sys`, `/etc` and the processor's own identification. The record is hashed and
//! published with the timings, therefore
//!
//! * it holds nothing that changes by itself: no load, temperature, current clock or free memory
//!   (those are [`crate::conditions::Conditions`]);
//! * it holds nothing that names a person, a host or a single device: no host name, user, serial
//!   number, address or machine id;
//! * what the system does not tell is null, never 0.

mod arm;
mod container;
mod cpu;
mod frequency;
mod memory;
mod os;
mod toolchain;
mod topology;

use serde::{Deserialize, Serialize};
use tsql_codecs::json;

pub(crate) use container::{Container, cpu_groups, tightest_quota};
pub use cpu::Processor;
pub(crate) use frequency::Frequency;
pub(crate) use memory::{Memory, bytes_of};
pub(crate) use os::System;
pub use toolchain::Toolchain;
pub(crate) use topology::{Topology, siblings};

use crate::root::Root;

/// What stays as it is while measurements run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Maker and product as the firmware says them; in a cloud the kind of instance.
    pub(crate) product: Option<String>,
    /// What the processor says of itself.
    pub processor: Processor,
    pub(crate) topology: Topology,
    pub(crate) frequency: Frequency,
    pub(crate) memory: Memory,
    pub(crate) system: System,
    pub(crate) container: Container,
    /// The host's compiler; the caller fills it.
    pub toolchain: Option<Toolchain>,
    /// One object per GPU; the caller fills it.
    pub gpus: Vec<serde_json::Value>,
}

impl Machine {
    /// Reads the machine that this runs on, without compiler and GPUs.
    pub fn read() -> Self {
        Self::read_at(&Root::system())
    }

    /// Reads the machine whose files lie below `root`.
    pub(crate) fn read_at(root: &Root) -> Self {
        Self {
            product: product(root),
            processor: Processor::read(root),
            topology: Topology::read(root),
            frequency: Frequency::read(root),
            memory: Memory::read(root),
            system: System::read(root),
            container: Container::read(root),
            toolchain: None,
            gpus: Vec::new(),
        }
    }

    /// The canonical text, which is hashed: equal for equal machines.
    pub fn to_json(&self) -> String {
        // Strings, integers and JSON values cannot fail to become JSON.
        let text = serde_json::to_string(self).unwrap_or_default();
        json::canonical(&text).unwrap_or_default()
    }
}

/// Maker and product, without the phrases that firmware has where nobody filled them in.
fn product(root: &Root) -> Option<String> {
    const UNFILLED: [&str; 5] = [
        "to be filled",
        "default string",
        "system product name",
        "system manufacturer",
        "not specified",
    ];
    let mut words = Vec::new();
    for name in ["sys_vendor", "product_name"] {
        let filled = root
            .word(&format!("/sys/class/dmi/id/{name}"))
            .filter(|text| {
                let text = text.to_lowercase();
                !UNFILLED.iter().any(|phrase| text.contains(phrase))
            });
        words.extend(filled);
    }
    // ARM boards have a device tree instead; its strings end with a zero byte.
    let board = || {
        root.word("/proc/device-tree/model")
            .map(|text| text.trim_end_matches('\0').to_owned())
    };
    if words.is_empty() {
        board()
    } else {
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
