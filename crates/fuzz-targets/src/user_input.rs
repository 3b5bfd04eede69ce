//! User input: SQL and manifests.

use std::sync::LazyLock;

use datafusion::prelude::SessionContext;
use tsql_dialect::statement;
use tsql_session::open_session;
use tsql_store::Store;

use super::round_trip::{expect_ok, runtime};

/// A session of an empty store.
static SESSION: LazyLock<SessionContext> = LazyLock::new(|| {
    runtime().block_on(async {
        let store = expect_ok(Store::create("memory:").await);
        expect_ok(open_session(&store).await)
    })
});

/// Stack size of the command's planner thread.
const STACK_BYTES: usize = 64 << 20;

/// SQL text, which is planned and optimized as far as possible.
pub(super) fn sql(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(statements) = statement::parse_statements(text) else {
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
#[cfg(target_os = "linux")]
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

/// This platform has no measurements.
#[cfg(not(target_os = "linux"))]
pub(super) fn manifest(_: &[u8]) {}
