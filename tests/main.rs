//! Integration tests: the command as people use it, and the library where that is shorter.
//!
//! One binary, because each one links all of DataFusion.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test fails by panicking and says why it was skipped"
)]

#[path = "suite/circles.rs"]
mod circles;
#[cfg(feature = "s3")]
#[path = "suite/faults.rs"]
mod faults;
#[path = "suite/npz.rs"]
mod npz;
#[path = "suite/support.rs"]
mod support;
#[cfg(feature = "s3")]
#[path = "suite/weed.rs"]
mod weed;

#[path = "suite/acknowledged.rs"]
mod acknowledged;
#[path = "suite/arrays.rs"]
mod arrays;
#[path = "suite/autotvm.rs"]
mod autotvm;
#[path = "suite/bounds.rs"]
mod bounds;
#[cfg(feature = "ui")]
#[path = "suite/browser.rs"]
mod browser;
#[path = "suite/compare.rs"]
mod compare;
#[path = "suite/completed.rs"]
mod completed;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/confined.rs"]
mod confined;
#[path = "suite/copied_stores.rs"]
mod copied_stores;
#[path = "suite/copies.rs"]
mod copies;
#[path = "suite/corrections.rs"]
mod corrections;
#[path = "suite/damage.rs"]
mod damage;
#[path = "suite/damage_mended.rs"]
mod damage_mended;
#[path = "suite/damage_restored.rs"]
mod damage_restored;
#[path = "suite/damaged_logs.rs"]
mod damaged_logs;
#[path = "suite/dependencies.rs"]
mod dependencies;
#[path = "suite/documents.rs"]
mod documents;
#[cfg(target_os = "linux")]
#[path = "suite/durable.rs"]
mod durable;
#[path = "suite/engine_rules.rs"]
mod engine_rules;
#[path = "suite/engines.rs"]
mod engines;
#[path = "suite/exports.rs"]
mod exports;
#[path = "suite/features.rs"]
mod features;
#[path = "suite/files.rs"]
mod files;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/foreign.rs"]
mod foreign;
#[path = "suite/giving_back.rs"]
mod giving_back;
#[path = "suite/graph_features.rs"]
mod graph_features;
#[path = "suite/graphnet.rs"]
mod graphnet;
#[path = "suite/graphnet_refused.rs"]
mod graphnet_refused;
#[path = "suite/histories.rs"]
mod histories;
#[path = "suite/killed.rs"]
mod killed;
#[path = "suite/labels.rs"]
mod labels;
#[path = "suite/laboratory.rs"]
mod laboratory;
#[path = "suite/marking.rs"]
mod marking;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/measure.rs"]
mod measure;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/measure_failures.rs"]
mod measure_failures;
#[path = "suite/measured.rs"]
mod measured;
#[path = "suite/mending.rs"]
mod mending;
#[path = "suite/metaschedule.rs"]
mod metaschedule;
#[path = "suite/metrics.rs"]
mod metrics;
#[path = "suite/mistakes.rs"]
mod mistakes;
#[path = "suite/mixed.rs"]
mod mixed;
#[path = "suite/networks.rs"]
mod networks;
#[path = "suite/notes.rs"]
mod notes;
#[cfg(feature = "s3")]
#[path = "suite/outages.rs"]
mod outages;
#[cfg(unix)]
#[path = "suite/pipes.rs"]
mod pipes;
#[cfg(feature = "plot")]
#[path = "suite/plot.rs"]
mod plot;
#[path = "suite/publish.rs"]
mod publish;
#[path = "suite/questions/mod.rs"]
mod questions;
#[path = "suite/questions_of_users.rs"]
mod questions_of_users;
#[path = "suite/real_logs.rs"]
mod real_logs;
#[path = "suite/refused.rs"]
mod refused;
#[path = "suite/replaced.rs"]
mod replaced;
#[cfg(feature = "s3")]
#[path = "suite/s3.rs"]
mod s3;
#[path = "suite/score.rs"]
mod score;
#[path = "suite/score_real.rs"]
mod score_real;
#[path = "suite/score_refused.rs"]
mod score_refused;
#[path = "suite/shell.rs"]
mod shell;
#[path = "suite/splits.rs"]
mod splits;
#[path = "suite/splits_in_sql.rs"]
mod splits_in_sql;
#[path = "suite/sql.rs"]
mod sql;
#[path = "suite/streams.rs"]
mod streams;
#[path = "suite/structure.rs"]
mod structure;
#[path = "suite/tags.rs"]
mod tags;
#[path = "suite/taken.rs"]
mod taken;
#[cfg(unix)]
#[path = "suite/terminal.rs"]
mod terminal;
#[path = "suite/throughput.rs"]
mod throughput;
#[path = "suite/told.rs"]
mod told;
#[path = "suite/tpugraphs.rs"]
mod tpugraphs;
#[path = "suite/training.rs"]
mod training;
#[path = "suite/training_features.rs"]
mod training_features;
#[path = "suite/training_files.rs"]
mod training_files;
#[path = "suite/training_graphs.rs"]
mod training_graphs;
#[cfg(feature = "ui")]
#[path = "suite/ui/mod.rs"]
mod ui;
#[cfg(unix)]
#[path = "suite/waiting.rs"]
mod waiting;
#[path = "suite/web.rs"]
mod web;
#[cfg(feature = "cluster")]
#[path = "suite/workers.rs"]
mod workers;
