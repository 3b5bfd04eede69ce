//! Logs that are stored twice, because they were compressed in another way. Their records count twice.

use futures::FutureExt as _;

use super::step::RepairStep;

pub(super) const STEP: RepairStep = RepairStep {
    found: "logs that the store has twice under different names, with all their records",
    does: "makes each a second name of the first one, so that records count once",
    is_damage: true,
    count: |store| async { Ok(store.find_duplicates().await?.len() as u64) }.boxed(),
    apply: |store| {
        async {
            let twins = store.find_duplicates().await?;
            store.merge_duplicates(&twins).await?;
            Ok(twins.len() as u64)
        }
        .boxed_local()
    },
};
