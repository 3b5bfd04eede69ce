//! The option `--label key=value` of commands that add records.

use clap::Args;

use super::stderr::{count_noun, print_message};
use crate::ingest::Report;
use crate::ingest_log::parse_label;

/// Labels of ingested files.
#[derive(Args, Debug)]
pub(super) struct Label {
    /// Label of the files or the run, such as night=7 or driver=550.54, for the table `labels`; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(super) labels: Vec<(String, String)>,
}

/// Reports that labels were requested and not applied.
pub(super) fn report_unlabeled(report: &Report) {
    if report.unlabelled_files > 0 {
        let files = count_noun(report.unlabelled_files, "file");
        print_message(&format!(
            "note: {files} contained no new records, so existing labels were not changed"
        ));
    }
}
