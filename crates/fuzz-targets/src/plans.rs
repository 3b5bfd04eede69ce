//! Query plans that a worker receives.

use std::sync::LazyLock;

use tsql_dataset::demo::create_demo;
use tsql_worker::plan_harness::{PlanHarness, QUERIES, mutate_plan};

use super::round_trip::{expect_ok, runtime};

/// A worker, and the serialized plans of the queries.
static WORKER: LazyLock<(PlanHarness, Vec<Vec<u8>>)> = LazyLock::new(|| {
    runtime().block_on(async {
        let store = expect_ok(create_demo().await);
        let worker = expect_ok(PlanHarness::new(&store).await);
        let mut plans = Vec::new();
        for sql in QUERIES {
            plans.push(expect_ok(worker.encode_query(sql).await));
        }
        (worker, plans)
    })
});

/// A modified plan is rejected, or reads only served tables. The first byte selects the plan, the others are the
/// changes. The decoder belongs to another project and may panic, which a worker reports as an error.
pub(super) fn plan(bytes: &[u8]) {
    let (worker, plans) = &*WORKER;
    let Some(sent) = mutate_plan(plans, bytes) else {
        return;
    };
    let read = runtime().spawn(async move { worker.decode_plan(&sent).await });
    if let Ok(Ok((plan, _))) = runtime().block_on(read) {
        assert_eq!(worker.unserved_file(&plan), None);
    }
}
