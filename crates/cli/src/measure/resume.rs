//! `tsql measure resume`: stores the timings of interrupted runs.

use clap::Args;
use tsql_dataset::trials::{Resumed, resume_measured};
use tsql_store::Store;

use crate::outcome::{DONE, Failure, PARTLY};
use crate::stderr::{count_noun, print_message};

/// Store the timings of interrupted runs
///
/// A run writes its timings to a journal on the local disk until they are committed. `measure run` also stores the
/// timings of earlier interrupted runs.
#[derive(Args, Debug)]
pub(super) struct Resume {}

pub(super) async fn run(store: &Store) -> Result<u8, Failure> {
    let resumed = resume_measured(store).await?;
    report_resumed(&resumed);
    if resumed.journals == 0 && resumed.damaged.is_empty() {
        print_message("found no journal of this store");
    }
    Ok(if resumed.damaged.is_empty() {
        DONE
    } else {
        PARTLY
    })
}

/// Reports journals of earlier runs: stored ones, damaged ones, and those of other stores.
pub(super) fn report_resumed(resumed: &Resumed) {
    if resumed.journals > 0 {
        print_message(&format!(
            "{} of earlier runs stored, {} new",
            count_noun(resumed.journals, "journal"),
            count_noun(resumed.records, "record")
        ));
    }
    for (path, lines) in &resumed.damaged {
        for line in lines {
            print_message(&format!(
                "{}:{line}: damaged, not stored; the journal is preserved",
                path.display()
            ));
        }
    }
    for (path, store) in &resumed.other_stores {
        print_message(&format!(
            "note: {} contains timings for {store}\nhint: tsql --store {store} measure resume",
            path.display()
        ));
    }
}
