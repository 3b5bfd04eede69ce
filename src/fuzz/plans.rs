//! Query plans that a worker receives.

use std::sync::LazyLock;

use super::round_trip::{expect_ok, runtime};
use crate::store::Store;
use crate::worker::plan_harness::{PlanHarness, mutate_bytes};

/// Queries whose plans contain most kinds of nodes and expressions.
const QUESTIONS: [&str; 6] = [
    "SELECT sketch, count(*) FROM records JOIN configurations USING (config_id) WHERE runtime_ns > 5 GROUP BY 1",
    "SELECT platform, median(runtime_ns), count(DISTINCT config_id) FROM records GROUP BY ROLLUP (platform)",
    "SELECT source_id, sum(runtime_ns) OVER (PARTITION BY platform ORDER BY line) FROM records ORDER BY 2 LIMIT 3",
    "SELECT platform, avg(x) FROM (SELECT platform, unnest(repeats_ns) AS x FROM records) GROUP BY 1",
    "SELECT count(*) FROM graphs a LEFT JOIN graphs b ON a.graph_id < b.graph_id WHERE a.dataset LIKE 't%'",
    "SELECT CASE WHEN platform IN ('a', 'b') THEN 1 END, 'x' FROM records UNION ALL SELECT graph_id, upper(dataset) FROM graphs",
];

/// A worker, and the serialized plans of the queries.
static WORKER: LazyLock<(PlanHarness, Vec<Vec<u8>>)> = LazyLock::new(|| {
    runtime().block_on(async {
        let store = expect_ok(Store::demo().await);
        let worker = expect_ok(PlanHarness::new(&store).await);
        let mut plans = Vec::new();
        for sql in QUESTIONS {
            plans.push(expect_ok(worker.encode_query(sql).await));
        }
        (worker, plans)
    })
});

/// A modified plan is rejected, or reads only served tables. The first byte selects the plan, the others are the
/// changes. The decoder belongs to another project and may panic, which a worker reports as an error.
pub(super) fn plan(bytes: &[u8]) {
    let Some((&which, changes)) = bytes.split_first() else {
        return;
    };
    let (worker, plans) = &*WORKER;
    let sent = mutate_bytes(&plans[usize::from(which) % plans.len()], changes);
    let read = runtime().spawn(async move { worker.decode_plan(&sent).await });
    if let Ok(Ok((plan, _))) = runtime().block_on(read) {
        assert_eq!(worker.unserved_file(&plan), None);
    }
}
