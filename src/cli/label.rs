//! `--label key=value`, wherever records come in.

use clap::Args;

use super::talk::{counted, talk};
use crate::ingest::Report;
use crate::ledger::parse_label;

/// Labels of what is read.
#[derive(Args, Debug)]
pub(super) struct Label {
    /// Label of the files or the run, for questions (`labels`), like night=7 or driver=550.54: any number of them
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(super) labels: Vec<(String, String)>,
}

/// Tells that labels were asked for and not given.
pub(super) fn tell_unlabelled(report: &Report) {
    if report.unlabelled_files > 0 {
        let files = counted(report.unlabelled_files, "file");
        talk(&format!(
            "note: nothing was new in {files}, so the labels in the store are as they were"
        ));
    }
}
