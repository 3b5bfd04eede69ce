//! `tsql measure resume`: what runs that were killed have measured.

use clap::Args;

use crate::cli::outcome::{DONE, Failure, PARTLY};
use crate::cli::talk::{counted, talk};
use crate::store::Store;
use crate::trials::Resumed;

/// Store what runs that were killed have measured
///
/// A run keeps its timings in a journal on the local disk until they are in the store. `measure run`
/// stores what earlier runs on the same store have left, too.
#[derive(Args, Debug)]
pub(super) struct Resume {}

pub(super) async fn run(store: &Store) -> Result<u8, Failure> {
    let resumed = store.resume_measured().await?;
    tell_resumed(&resumed);
    if resumed.journals == 0 && resumed.damaged.is_empty() {
        talk("no run has left anything for this store");
    }
    Ok(if resumed.damaged.is_empty() {
        DONE
    } else {
        PARTLY
    })
}

/// Says what was left, and where.
pub(super) fn tell_resumed(resumed: &Resumed) {
    if resumed.journals > 0 {
        talk(&format!(
            "{} of earlier runs stored, {} new",
            counted(resumed.journals, "journal"),
            counted(resumed.records, "record")
        ));
    }
    for (path, lines) in &resumed.damaged {
        for line in lines {
            talk(&format!(
                "{}:{line}: damaged, not stored; the journal stays here",
                path.display()
            ));
        }
    }
    for (path, store) in &resumed.elsewhere {
        talk(&format!(
            "note: {} holds timings for {store}\nhint: tsql --store {store} measure resume",
            path.display()
        ));
    }
}
