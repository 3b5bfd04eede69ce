//! Integration tests of the command, and of the library where that is shorter.
//!
//! One binary, because each one links all of DataFusion.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test fails by panicking and reports why it was skipped"
)]

#[cfg(feature = "s3")]
#[path = "suite/faults.rs"]
mod faults;
#[path = "suite/import_cycles.rs"]
mod import_cycles;
#[path = "suite/npz.rs"]
mod npz;
#[path = "suite/support.rs"]
mod support;
#[cfg(feature = "s3")]
#[path = "suite/weed.rs"]
mod weed;

#[path = "suite/acknowledged_writes.rs"]
mod acknowledged_writes;
#[path = "suite/arrays.rs"]
mod arrays;
#[path = "suite/autotuner_questions.rs"]
mod autotuner_questions;
#[path = "suite/autotuners.rs"]
mod autotuners;
#[path = "suite/autotvm.rs"]
mod autotvm;
#[path = "suite/benchmarks.rs"]
mod benchmarks;
#[cfg(feature = "ui")]
#[path = "suite/browser.rs"]
mod browser;
#[path = "suite/compare.rs"]
mod compare;
#[path = "suite/completions.rs"]
mod completions;
#[path = "suite/copied_stores.rs"]
mod copied_stores;
#[path = "suite/copies.rs"]
mod copies;
#[path = "suite/corrections.rs"]
mod corrections;
#[path = "suite/crash_recovery.rs"]
mod crash_recovery;
#[path = "suite/damage.rs"]
mod damage;
#[path = "suite/damage_recovery.rs"]
mod damage_recovery;
#[path = "suite/damage_repair.rs"]
mod damage_repair;
#[path = "suite/damaged_files.rs"]
mod damaged_files;
#[path = "suite/dependencies.rs"]
mod dependencies;
#[path = "suite/documents.rs"]
mod documents;
#[cfg(target_os = "linux")]
#[path = "suite/durability.rs"]
mod durability;
#[path = "suite/engine_rules.rs"]
mod engine_rules;
#[path = "suite/engines.rs"]
mod engines;
#[path = "suite/error_messages.rs"]
mod error_messages;
#[path = "suite/export_round_trips.rs"]
mod export_round_trips;
#[path = "suite/exports.rs"]
mod exports;
#[path = "suite/features.rs"]
mod features;
#[path = "suite/files.rs"]
mod files;
#[path = "suite/first_commands.rs"]
mod first_commands;
#[cfg(all(feature = "flight", target_os = "linux"))]
#[path = "suite/flight.rs"]
mod flight;
#[path = "suite/graph_features.rs"]
mod graph_features;
#[path = "suite/graphnet.rs"]
mod graphnet;
#[path = "suite/graphnet_rejects.rs"]
mod graphnet_rejects;
#[path = "suite/histories.rs"]
mod histories;
#[path = "suite/ingest_sources.rs"]
mod ingest_sources;
#[path = "suite/labels.rs"]
mod labels;
#[path = "suite/laboratory.rs"]
mod laboratory;
#[cfg(feature = "mcp")]
#[path = "suite/mcp.rs"]
mod mcp;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/measure.rs"]
mod measure;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/measure_failures.rs"]
mod measure_failures;
#[path = "suite/measured_records.rs"]
mod measured_records;
#[path = "suite/metaschedule.rs"]
mod metaschedule;
#[path = "suite/metrics.rs"]
mod metrics;
#[path = "suite/mixed_inputs.rs"]
mod mixed_inputs;
#[path = "suite/networks.rs"]
mod networks;
#[path = "suite/notes.rs"]
mod notes;
#[cfg(feature = "s3")]
#[path = "suite/outages.rs"]
mod outages;
#[path = "suite/output_safety.rs"]
mod output_safety;
#[cfg(all(target_os = "linux", feature = "measure"))]
#[path = "suite/pair.rs"]
mod pair;
#[cfg(unix)]
#[path = "suite/pipes.rs"]
mod pipes;
#[cfg(feature = "plot")]
#[path = "suite/platforms.rs"]
mod platforms;
#[path = "suite/plot.rs"]
mod plot;
#[path = "suite/publish.rs"]
mod publish;
#[path = "suite/random_queries/mod.rs"]
mod random_queries;
#[path = "suite/real_logs.rs"]
mod real_logs;
#[path = "suite/rejected_input.rs"]
mod rejected_input;
#[path = "suite/release.rs"]
mod release;
#[path = "suite/replaced_sources.rs"]
mod replaced_sources;
#[path = "suite/replay.rs"]
mod replay;
#[path = "suite/resource_limits.rs"]
mod resource_limits;
#[cfg(feature = "s3")]
#[path = "suite/s3.rs"]
mod s3;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/sandbox.rs"]
mod sandbox;
#[path = "suite/score.rs"]
mod score;
#[path = "suite/score_real.rs"]
mod score_real;
#[path = "suite/score_rejects.rs"]
mod score_rejects;
#[path = "suite/search_spaces.rs"]
mod search_spaces;
#[path = "suite/shell.rs"]
mod shell;
#[path = "suite/splits.rs"]
mod splits;
#[path = "suite/splits_in_sql.rs"]
mod splits_in_sql;
#[path = "suite/sql.rs"]
mod sql;
#[path = "suite/store_markers.rs"]
mod store_markers;
#[path = "suite/store_upgrades.rs"]
mod store_upgrades;
#[path = "suite/streams.rs"]
mod streams;
#[path = "suite/structure.rs"]
mod structure;
#[path = "suite/tags.rs"]
mod tags;
#[cfg(unix)]
#[path = "suite/terminal.rs"]
mod terminal;
#[path = "suite/throughput.rs"]
mod throughput;
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
#[path = "suite/trend.rs"]
mod trend;
#[cfg(feature = "ui")]
#[path = "suite/ui/mod.rs"]
mod ui;
#[cfg(all(feature = "measure", target_os = "linux"))]
#[path = "suite/untrusted_files.rs"]
mod untrusted_files;
#[path = "suite/user_queries.rs"]
mod user_queries;
#[path = "suite/verdicts.rs"]
mod verdicts;
#[cfg(unix)]
#[path = "suite/waiting.rs"]
mod waiting;
#[path = "suite/web.rs"]
mod web;
#[path = "suite/words.rs"]
mod words;
#[cfg(feature = "cluster")]
#[path = "suite/workers.rs"]
mod workers;
