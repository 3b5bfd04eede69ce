//! Library of named queries: the built-in ones in `queries/`, and those in folders of the user.
//!
//! The file name is the query name. The first comment line is the title. Lines of the following kinds may follow, then
//! one `SELECT` with `$NAME` placeholders:
//!
//! | line | meaning |
//! |---|---|
//! | `-- parameter NAME = DEFAULT : meaning` | a value that may be set |
//! | `-- platform NAME : meaning` | a platform of the store; by default one with the most records |
//! | `-- file NAME : meaning` | a table that the user provides |
//! | `-- plot: kind=KIND x=COLUMN ...` | the chart of the result, in the syntax of `tsql plot` |
//! | `-- needs TABLE [WHERE CONDITION] : what` | rows required for a result; the condition also restricts the platforms |

mod missing_data;
mod named_query;
mod run;
mod user_queries;

pub use named_query::{NamedQuery, Parameter, RequiredRows};
pub use run::platforms;
pub use user_queries::{UserQueries, query_folders, user_queries};

use tsql_error::{Error, Result};

macro_rules! questions {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../queries/", $name, ".sql")))),*]
    };
}

/// Name and text of each built-in query, sorted by name. A test compares the list with the folder.
const BUILT_IN_FILES: &[(&str, &str)] = &questions![
    "best-by-month",
    "best-per-kernel",
    "best-program-elsewhere",
    "best-program-per-graph",
    "best-sketch-per-graph",
    "best-so-far",
    "cross-platform-pairs",
    "duplicate-programs",
    "failures-by-kind",
    "gflops-beside-peak",
    "gflops-by-operator",
    "graphnet-conv-batchnorm",
    "graphnet-duplicates",
    "graphnet-ops",
    "graphnet-parameters",
    "graphnet-regressions",
    "graphnet-score-curves",
    "graphnet-scores",
    "graphnet-speedups",
    "graphnet-status",
    "hold-out-networks",
    "label-distribution",
    "metaschedule-labels",
    "missing-programs",
    "near-best",
    "network-latency",
    "noise-by-runtime",
    "noise-floor",
    "noisiest-records",
    "parameter-importance",
    "pareto-time-energy",
    "platform-coverage",
    "platform-summary",
    "platforms-compared",
    "program-spread",
    "random-search",
    "rank-correlation",
    "recent-changes",
    "rejected-lines",
    "repeat-statistics",
    "roofline",
    "search-convergence",
    "search-curves",
    "search-spaces",
    "sketch-distribution",
    "source-regressions",
    "sources",
    "speed-over-time",
    "task-bounds",
    "task-gflops",
    "tenset-labels",
    "tenset-labels-valid",
    "time-outs",
    "top-k-per-graph",
    "tpugraphs-bounds",
    "tpugraphs-collections",
    "tpugraphs-layout-codes",
    "tpugraphs-noise",
    "tpugraphs-ops",
    "tpugraphs-score",
    "tpugraphs-spread",
    "widest-tasks",
];

/// All built-in queries by name.
#[must_use]
pub fn built_in_queries() -> Vec<NamedQuery> {
    BUILT_IN_FILES
        .iter()
        .map(|(name, sql)| NamedQuery::parse(name, sql))
        .collect()
}

/// Finds a built-in query by name.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub fn built_in_query(name: &str) -> Result<NamedQuery> {
    find_query(built_in_queries(), name)
}

/// Finds a query by name in a list.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub fn find_query(queries: Vec<NamedQuery>, name: &str) -> Result<NamedQuery> {
    let names: Vec<String> = queries.iter().map(|query| query.name.clone()).collect();
    let found = queries.into_iter().find(|query| query.name == name);
    found.ok_or_else(|| Error::Unknown {
        kind: "built-in query",
        name: name.to_owned(),
        known: names.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use crate::open_session;
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    use datafusion::prelude::SessionContext;

    use super::*;
    use tsql_store::Store;

    #[test]
    fn every_file_is_listed() {
        let folder =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../queries")).unwrap();
        let mut names: Vec<String> = folder
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut listed: Vec<String> = built_in_queries()
            .iter()
            .map(|question| format!("{}.sql", question.name))
            .chain(["duckdb-views.sql".to_owned()])
            .collect();
        listed.sort();
        assert_eq!(names, listed);
    }

    #[test]
    fn a_similar_query_name_is_suggested() {
        let error = built_in_query("platform-sumary").unwrap_err().to_string();
        assert!(
            error.contains("did you mean `platform-summary`?"),
            "{error}"
        );
    }

    /// Rows of a query as text.
    async fn rows(context: &SessionContext, name: &str, given: &[(&str, &str)]) -> Vec<String> {
        let given = given.iter();
        let given = given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let given: Vec<_> = given.collect();
        let question = built_in_query(name).unwrap();
        let frame = question.run(context, &given).await.unwrap();
        let batches = frame.collect().await.unwrap();
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in &batches {
            let columns = batch.columns().iter();
            let columns = columns.map(|column| ArrayFormatter::try_new(column, &options).unwrap());
            let columns: Vec<_> = columns.collect();
            rows.extend((0..batch.num_rows()).map(|row| {
                let cells = columns.iter().map(|column| column.value(row).to_string());
                cells.collect::<Vec<_>>().join(" ")
            }));
        }
        rows
    }

    /// A network for two target kinds that share task 1, with records on platforms with one kind and with both.
    #[tokio::test]
    async fn networks_meet_the_records_of_their_target() {
        let store = Store::create("memory:").await.unwrap();
        let context = open_session(&store).await.unwrap();
        for sql in [
            "CREATE OR REPLACE VIEW network_tasks AS SELECT * FROM (VALUES
                (1, 'net', '[1]', 'llvm', 2, 1), (1, 'net', '[1]', 'llvm', 1, 2),
                (2, 'net', '[1]', 'cuda', 2, 1), (2, 'net', '[1]', 'cuda', 3, 3),
                (3, 'net', '[1]', 'cuda', 2, 1), (3, 'net', '[1]', 'cuda', 3, 3))
             AS t(source_id, network, input_shapes, target_kind, weight, graph_id)",
            "CREATE OR REPLACE VIEW tasks AS SELECT * FROM (VALUES (1, 100.0), (2, 10.0), (3, 1.0)) AS t(graph_id, flop_count)",
            "CREATE OR REPLACE VIEW environments AS SELECT * FROM (VALUES (7, 'llvm'), (8, 'cuda')) AS t(environment_id, target_kind)",
            "CREATE OR REPLACE VIEW records AS SELECT *, 'tenset' AS dataset, 'ok' AS status FROM (VALUES
                ('cpu', 1, 7, 50.0), ('cpu', 2, 7, 5.0),
                ('gpu', 1, 8, 10.0), ('gpu', 1, 8, 20.0), ('gpu', 3, 8, 1.0),
                ('both', 1, 7, 50.0), ('both', 1, 8, 10.0))
             AS t(platform, graph_id, environment_id, runtime_ns)",
        ] {
            context.sql(sql).await.unwrap();
        }
        // Computed by hand: weights times best times, and operations divided by them.
        for (platform, wanted) in [
            ("cpu", vec!["net [1] llvm 2 2 105.0 2.0"]),
            ("gpu", vec!["net [1] cuda 2 2 23.0 8.826086956521738"]),
            (
                "both",
                vec!["net [1] cuda 2 1 20.0 10.0", "net [1] llvm 2 1 100.0 2.0"],
            ),
        ] {
            let found = rows(&context, "network-latency", &[("platform", platform)]).await;
            assert_eq!(found, wanted, "{platform}");
            let held = rows(&context, "hold-out-networks", &[("platform", platform)]).await;
            let measured = |target: &str| {
                let row = held
                    .iter()
                    .find(|row| row.starts_with(&format!("net {target} ")));
                row.unwrap().split(' ').nth(4).unwrap().to_owned()
            };
            let targets = [("llvm", "llvm"), ("cuda", "cuda")];
            for (target, has) in targets {
                let is_measured = platform == "both" || (platform == "cpu") == (has == "llvm");
                assert_eq!(measured(target) != "0", is_measured, "{platform} {target}");
            }
        }
    }
}
