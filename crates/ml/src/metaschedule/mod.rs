//! Databases of TVM's MetaSchedule: records and the workloads that they refer to, as files that TVM loads.
//!
//! ```text
//! OUT/
//! ├── tsql-export.json                    description of the files, for the next ingest
//! └── cuda/a100/                          target kind, platform
//!     ├── database_workload.json          a line for each program
//!     └── database_tuning_record.json     a line for each record, which refers to a line of the other file
//! ```
//!
//! A record refers to its workload by line number in the other file. So records of several databases get new
//! numbers. Records whose workload the store does not have are rejected: under any number TVM would assign them
//! to another program.

mod database_content;
mod exported;
mod output;
mod plan;
mod selection;
mod workload_order;

use std::path::Path;
use std::sync::Arc;

use tsql_dataset::export::sidecar;
use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_session::open_session;
use tsql_store::Store;
use tsql_store::atomic_output::check_output;

use plan::{DatabasePlan, WriteOutcome};
use selection::other_records;

pub use exported::{DatabaseOptions, ExportedDatabase, ExportedDatabases};

/// Writes the records of MetaSchedule that `options` select as databases below `folder`: one for each target and
/// platform, with its workloads.
///
/// A database keeps the order of its source file. If all records of a file were selected, it also keeps all
/// workloads of that file. So a database that is exported whole has the bytes that were ingested.
///
/// # Errors
/// [`Error::Empty`] if no record is selected, [`Error::Refused`] if the store lacks the workload of a record,
/// [`Error::Query`] for an invalid predicate, [`Error::Io`] if the folder cannot be written.
pub async fn export_databases(
    store: &Store,
    folder: &Path,
    options: &DatabaseOptions,
) -> Result<ExportedDatabases> {
    check_output(folder)?;
    let context = open_session(store).await?;
    let predicate = options.predicate.as_deref().unwrap_or("true");
    let mut exported = ExportedDatabases {
        other_records: other_records(&context, predicate).await?,
        ..ExportedDatabases::default()
    };
    let plans = DatabasePlan::all(&context, predicate).await?;
    if plans.is_empty() {
        return Err(Error::Empty(format!(
            "no record of a MetaSchedule database matches `{predicate}`\nhint: `tsql export lines` exports records of other formats"
        )));
    }
    let scratch = Arc::new(Scratch::new_in(folder)?);
    let mut files = Vec::new();
    for plan in &plans {
        match plan
            .write(&context, predicate, (folder, &scratch), options)
            .await?
        {
            WriteOutcome::Files(database) => {
                files.extend(plan.exported_files());
                exported.databases.push(database);
            }
            WriteOutcome::Refused(reason) => {
                exported.rejected.push((plan.folder(), reason));
            }
        }
    }
    sidecar::write_sidecar(folder, files, options.overwrite)?;
    Ok(exported)
}
