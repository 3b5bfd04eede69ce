//! Facts of the run that the caller gives.

use tsql_autotuners::{ReadOptions, RunOptions};

use crate::{configuration, problem, read_with, run};

#[test]
fn the_caller_sets_commit_time_and_parameters_of_the_graph() {
    let content =
        r#"{"results": [{"command": "x 1 2", "mean": 0.5, "parameters": {"a": "1", "b": "2"}}]}"#;
    let options = ReadOptions {
        run: RunOptions {
            commit: Some("beef".to_owned()),
            measured_at: Some("2026-01-02T03:04:05Z".to_owned()),
            graph_parameters: vec!["b".to_owned(), "unknown".to_owned()],
        },
        ..ReadOptions::default()
    };
    let file = read_with(content.as_bytes(), options);
    let trial = &file.trials[0];
    assert_eq!(run(trial, "commit").unwrap(), "beef");
    assert_eq!(run(trial, "commit_from").unwrap(), "option");
    assert_eq!(run(trial, "measured_at").unwrap(), "2026-01-02T03:04:05Z");
    assert_eq!(trial.timestamp.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!(problem(trial), r#"{"b": "2"}"#);
    assert_eq!(configuration(trial), r#"{"a": "1"}"#);
}
