//! Plots of built-in queries.

use tsql_error::{Error, Result};
use tsql_plot::PlotSpec;
use tsql_session::NamedQuery;

/// Returns the plot specification of a built-in query: `own`, with missing options from the query's `-- plot:` line.
/// The title is that of the query.
///
/// # Errors
/// [`Error::Argument`] if the query has no such line and `own` names no column, or if the line is invalid.
pub fn spec_for_query(question: &NamedQuery, own: PlotSpec) -> Result<PlotSpec> {
    let refused = |reason| Error::Argument {
        name: "plot",
        reason,
    };
    let said = match &question.plot {
        Some(text) => text
            .parse()
            .map_err(|reason| refused(format!("{}: {reason}", question.name)))?,
        // Automatically chosen columns would not match the title.
        None if own.x.is_none() && own.y.is_none() => {
            return Err(refused(format!(
                "`{}` has no predefined plot\nhint: --kind selects a plot; -x and -y select its columns",
                question.name
            )));
        }
        None => PlotSpec::default(),
    };
    let mut spec = own.or(&said);
    if spec.title.is_none() {
        let title = question
            .title
            .split_once(':')
            .map_or(question.title.as_str(), |(title, _)| title);
        spec.title = Some(title.trim_end_matches('.').to_owned());
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use tsql_dataset::ingest::ingest;
    use tsql_session::open_session;

    use datafusion::logical_expr::{Expr, col, ident};
    use tsql_plot::ChartKind;

    use super::*;
    use tsql_dataset::ingest::IngestOptions;
    use tsql_session::{built_in_queries, built_in_query};
    use tsql_store::Store;

    #[test]
    fn plot_lines_of_all_built_in_queries_parse() {
        let drawn = built_in_queries()
            .into_iter()
            .filter(|question| question.plot.is_some());
        let count = drawn
            .inspect(|question| {
                spec_for_query(question, PlotSpec::default()).unwrap();
            })
            .count();
        assert!(count >= 10, "{count}");
    }

    #[test]
    fn a_query_without_a_plot_line_uses_the_given_options_only() {
        let question = built_in_query("rejected-lines").unwrap();
        let kind = "kind=bar".parse().unwrap();
        for own in [PlotSpec::default(), kind] {
            let error = spec_for_query(&question, own).unwrap_err().to_string();
            assert!(
                error.contains(
                    "`rejected-lines` has no predefined plot\nhint: --kind selects a plot"
                ),
                "{error}"
            );
        }
        let own = spec_for_query(&question, "kind=bar x=reason".parse().unwrap()).unwrap();
        assert_eq!(own.x.as_deref(), Some("reason"));
    }

    /// Two sources with the same tuning tasks, whose names have a common prefix.
    async fn store_with_tuning_logs() -> Store {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = 0;
        for file in ["a", "b"] {
            let mut text = String::new();
            for (task, place) in [
                ("matmul_a", 0),
                ("matmul_b", 0),
                ("matmul_a", 1),
                ("matmul_b", 1),
            ] {
                lines += 1;
                let _ = writeln!(
                    text,
                    r#"{{"i": [["[\"{task}\", 8]", "llvm", [8, 64], "", 1, []], [[], [["SP", 1, {place}, 64, [{lines}], 1]]]], "r": [[0.{lines}, 0.5], 0, 3.25, 1697658022], "v": "v0.6"}}"#
                );
            }
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let store = Store::create("memory:").await.unwrap();
        let inputs = [folder.path().to_string_lossy().into_owned()];
        let options = IngestOptions::default().platform("p");
        ingest(&store, &inputs, &options).await.unwrap();
        store
    }

    #[tokio::test]
    async fn no_plot_of_a_built_in_query_merges_rows() {
        let store = store_with_tuning_logs().await;
        let context = open_session(&store).await.unwrap();
        let mut looked = Vec::new();
        for question in built_in_queries() {
            let Ok(spec) = spec_for_query(&question, PlotSpec::default()) else {
                continue;
            };
            let Ok(frame) = question.run(&context, &[]).await else {
                continue;
            };
            let counted = async |columns: Vec<Expr>| {
                let some = frame.clone().select(columns).unwrap();
                some.distinct().unwrap().count().await.unwrap()
            };
            let schema = frame.schema();
            if ["task", "workload_key"]
                .iter()
                .all(|name| schema.has_column_with_unqualified_name(name))
            {
                let [tasks, keys] = [
                    counted(vec![col("task")]).await,
                    counted(vec![col("workload_key")]).await,
                ];
                assert_eq!(tasks, keys, "{}", question.name);
            }
            if !matches!(
                spec.kind,
                Some(ChartKind::Line | ChartKind::Step | ChartKind::Bar | ChartKind::Heat)
            ) {
                continue;
            }
            let y = spec.y.filter(|_| spec.kind == Some(ChartKind::Heat));
            let roles = [spec.facet, spec.by, spec.x, y];
            // A column may have two roles.
            let roles: BTreeSet<String> = roles.into_iter().flatten().collect();
            let roles: Vec<Expr> = roles.into_iter().map(ident).collect();
            let rows = frame.clone().count().await.unwrap();
            assert_eq!(counted(roles).await, rows, "{}", question.name);
            looked.extend((rows > 0).then_some(question.name));
        }
        assert!(looked.contains(&"speed-over-time".to_owned()), "{looked:?}");
        assert!(looked.contains(&"search-curves".to_owned()), "{looked:?}");
    }
}
