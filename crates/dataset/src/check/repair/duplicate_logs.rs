//! Logs that are stored twice, because they were compressed in another way. Their records count twice.

use futures::FutureExt as _;

use super::step::{RepairStep, no_commands};
use crate::upkeep::duplicate_sources::{find_duplicates, merge_duplicates};

pub(super) const STEP: RepairStep = RepairStep {
    description: "logs that the store has twice under different names, with all their records",
    effect: "makes each a second name of the first one, so that records count once",
    is_damage: true,
    count: |store| async { Ok(find_duplicates(store).await?.len() as u64) }.boxed(),
    apply: |store| {
        async {
            let twins = find_duplicates(store).await?;
            merge_duplicates(store, &twins).await?;
            Ok(twins.len() as u64)
        }
        .boxed_local()
    },
    next_commands: no_commands,
};
