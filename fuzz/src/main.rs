//! libFuzzer over the target that `TSQL_FUZZ` names.

#![no_main]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tsql_fuzz_targets::{Target, targets};

static TARGET: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let named = std::env::var("TSQL_FUZZ").unwrap_or_default();
    let found = targets().find(|(name, _)| *name == named);
    let names: Vec<&str> = targets().map(|(name, _)| name).collect();
    found.map_or_else(
        || panic!("TSQL_FUZZ names one of {}", names.join(", ")),
        |(_, target)| target,
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
        if catch_unwind(AssertUnwindSafe(|| target.run(bytes))).is_err() {
            std::process::abort();
        }
    }
);
