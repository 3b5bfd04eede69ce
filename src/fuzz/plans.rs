//! Plans that a worker is sent.

use std::sync::LazyLock;

use super::whole::{runtime, settled};
use crate::store::Store;
use crate::worker::tried::{Tried, changed};

/// Questions whose plans have, together, most kinds of nodes and expressions that are sent.
const QUESTIONS: [&str; 6] = [
    "SELECT sketch, count(*) FROM records JOIN configurations USING (config_id) WHERE runtime_ns > 5 GROUP BY 1",
    "SELECT platform, median(runtime_ns), count(DISTINCT config_id) FROM records GROUP BY ROLLUP (platform)",
    "SELECT source_id, sum(runtime_ns) OVER (PARTITION BY platform ORDER BY line) FROM records ORDER BY 2 LIMIT 3",
    "SELECT platform, avg(x) FROM (SELECT platform, unnest(repeats_ns) AS x FROM records) GROUP BY 1",
    "SELECT count(*) FROM graphs a LEFT JOIN graphs b ON a.graph_id < b.graph_id WHERE a.dataset LIKE 't%'",
    "SELECT CASE WHEN platform IN ('a', 'b') THEN 1 END, 'x' FROM records UNION ALL SELECT graph_id, upper(dataset) FROM graphs",
];

/// A worker, and the plans of the questions as it would be sent them.
static WORKER: LazyLock<(Tried, Vec<Vec<u8>>)> = LazyLock::new(|| {
    runtime().block_on(async {
        let store = settled(Store::demo().await);
        let worker = settled(Tried::new(&store).await);
        let mut plans = Vec::new();
        for sql in QUESTIONS {
            plans.push(settled(worker.written(sql).await));
        }
        (worker, plans)
    })
});

/// A plan with changes in it is refused, or reads what is served: the first byte says which plan, the others are the
/// changes. The decoder is not ours and may panic, which a worker answers with an error.
pub(super) fn plan(bytes: &[u8]) {
    let Some((&which, changes)) = bytes.split_first() else {
        return;
    };
    let (worker, plans) = &*WORKER;
    let sent = changed(&plans[usize::from(which) % plans.len()], changes);
    let read = runtime().spawn(async move { worker.read(&sent).await });
    if let Ok(Ok((plan, _))) = runtime().block_on(read) {
        assert_eq!(worker.strange_file(&plan), None);
    }
}
