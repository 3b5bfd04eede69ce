//! The option `--label key=value` of commands that add records.

use clap::Args;
use tsql_adapters::ingest_log::parse_label;
use tsql_dataset::ingest::Report;

use super::stderr::{count_noun, print_message};

/// Labels of ingested files.
#[derive(Args, Debug)]
pub(super) struct Label {
    /// Label of the files or the run, such as night=7 or driver=550.54, for the table `labels`; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(super) labels: Vec<(String, String)>,
}

/// Reports that labels were requested and not applied.
pub(super) fn report_unlabeled(report: &Report) {
    if report.ignored_label_files > 0 {
        let files = count_noun(report.ignored_label_files, "file");
        print_message(&format!(
            "note: {files} contained no new records, so existing labels were not changed"
        ));
    }
}
