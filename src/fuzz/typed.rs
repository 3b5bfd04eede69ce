//! What people write: SQL and manifests.

use std::sync::LazyLock;

use datafusion::prelude::SessionContext;

use crate::query::statement;
use crate::store::Store;

use super::whole::{runtime, settled};

/// A session of a store without rows.
static SESSION: LazyLock<SessionContext> = LazyLock::new(|| {
    runtime().block_on(async {
        let store = settled(Store::create("memory:").await);
        settled(store.session().await)
    })
});

/// Stack of the thread on which the command plans.
const STACK_BYTES: usize = 64 << 20;

/// A text in place of SQL, planned and optimised as far as that goes.
pub(super) fn sql(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(statements) = statement::statements(text) else {
        return;
    };
    stacker::grow(STACK_BYTES, || {
        for statement in statements {
            let state = SESSION.state();
            let plan = runtime().block_on(state.statement_to_plan(statement));
            if let Ok(plan) = plan {
                let _ = state.optimize(&plan);
            }
        }
    });
}

/// A manifest of `measure`.
#[cfg(all(feature = "measure", target_os = "linux"))]
pub(super) fn manifest(bytes: &[u8]) {
    use tsql_measure::Error;
    use tsql_measure::manifest::Manifest;

    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let source = |_: &str| Ok::<_, Error>("void kernel(float* out) { out[0] = 1; }".to_owned());
    if let Ok(manifest) = Manifest::parse(text, "manifest.toml", &source) {
        for workload in manifest.workloads() {
            let _ = manifest.workload_key(&workload.params);
        }
    }
}

/// Nothing is measured here.
#[cfg(not(all(feature = "measure", target_os = "linux")))]
pub(super) fn manifest(_: &[u8]) {}
