//! Logs that the store has twice, because they were compressed in another way: their records counted twice.

use futures::FutureExt as _;

use super::kind::Mend;

pub(super) const MEND: Mend = Mend {
    found: "logs whose bytes the store has under another name, with all their records",
    does: "makes each another name of the one that was there first, whose records then count once",
    is_damage: true,
    count: |store| async { Ok(store.twins().await?.len() as u64) }.boxed(),
    apply: |store| {
        async {
            let twins = store.twins().await?;
            store.merge_twins(&twins).await?;
            Ok(twins.len() as u64)
        }
        .boxed_local()
    },
};
