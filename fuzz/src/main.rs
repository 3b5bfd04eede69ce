//! libFuzzer over the target that `TSQL_FUZZ` names.

#![no_main]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tsql::fuzz::{TARGETS, Target};

static TARGET: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let named = std::env::var("TSQL_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == named);
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    found.map_or_else(
        || panic!("TSQL_FUZZ names one of {}", names.join(", ")),
        |(_, target)| *target,
    )
}

fuzz_target!(
    init: {
        // libFuzzer's own hook would end the process at a panic that a reader's thread catches and tells.
        drop(std::panic::take_hook());
        TARGET.get_or_init(chosen);
    },
    |bytes: &[u8]| {
        let target = TARGET.get_or_init(chosen);
        if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
            std::process::abort();
        }
    }
);
