use std::collections::BTreeSet;

use arrow::util::pretty::pretty_format_batches;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;

use super::*;
use crate::context::new_context;
use crate::rule::PlanningStep;
use crate::test_queries::collect;

/// Our rules without a switch.
const SAFETY: [&str; 4] = [
    "fixed_settings",
    "copy_to",
    "window_filters",
    "untrusted_files",
];

async fn text(context: &SessionContext, sql: &str) -> String {
    let rows = collect(context, sql).await.unwrap();
    pretty_format_batches(&rows).unwrap().to_string()
}

/// Returns the names of all rules of a session.
fn names(context: &SessionContext) -> BTreeSet<String> {
    let state = context.state();
    let analyzer = state.analyzer().rules.iter().map(|rule| rule.name());
    let logical = state.optimizer().rules.iter().map(|rule| rule.name());
    let physical = state.physical_optimizers().iter().map(|rule| rule.name());
    let names = analyzer.chain(logical).chain(physical);
    names.map(str::to_owned).collect()
}

#[test]
fn each_rule_of_a_session_is_registered_once() {
    let theirs = SessionStateBuilder::new_with_default_features().build();
    let theirs = names(&SessionContext::new_with_state(theirs));
    let mut ours = BTreeSet::new();
    for limit in [None, Some(1 << 30)] {
        let all = names(&new_context(limit).unwrap());
        ours.extend(all.difference(&theirs).cloned());
    }
    let known: Vec<&str> = all_rules().map(|rule| rule.name).collect();
    assert_eq!(
        known.iter().collect::<BTreeSet<_>>().len(),
        known.len(),
        "a name occurs twice"
    );
    for name in &ours {
        let is_known = known.contains(&name.as_str()) || SAFETY.contains(&name.as_str());
        assert!(is_known, "{name} has no entry");
    }
    for rule in all_rules() {
        // A wrapper of DataFusion's rule has the name of that rule.
        let is_around = rule.places.iter().all(|place| {
            matches!(
                place,
                PlanningStep::AroundLogical(..) | PlanningStep::AroundPhysical(..)
            )
        });
        assert!(is_around || ours.contains(rule.name), "{}", rule.name);
    }
}

#[tokio::test]
async fn explanations_name_the_rules_that_changed_the_plan() {
    let context = new_context(None).unwrap();
    let sql = "EXPLAIN SELECT column1 FROM (VALUES (2), (1)) ORDER BY column1";
    assert!(
        text(&context, sql)
            .await
            .contains("| rules         | full_sort")
    );
    text(&context, "SET tsql.rules.full_sort = false").await;
    let off = text(&context, sql).await;
    assert!(
        !off.contains("full_sort") && !off.contains("| rules"),
        "{off}"
    );
    text(&context, "SET tsql.rules.full_sort = true").await;
    assert!(text(&context, sql).await.contains("full_sort"));
}

/// Rules of each planning step, including wrappers of DataFusion's rules.
#[tokio::test]
async fn rules_that_are_off_do_nothing() {
    let context = new_context(None).unwrap();
    for (rule, sql) in [
        (
            "null_in_list",
            "SELECT count(*) FROM (VALUES (2)) WHERE column1 NOT IN (1, NULL) AND column1 IN (2)",
        ),
        (
            "float_comparisons",
            "SELECT count(nullif(x, 0e0)) FROM (SELECT CAST(column1 AS DOUBLE) AS x FROM (VALUES ('-0')))",
        ),
        (
            "group_filters",
            "SELECT count(*) FROM (SELECT 1 AS one FROM (VALUES (1)) HAVING max(column1) = 1 AND max(column1) = 2)",
        ),
    ] {
        let on = text(&context, sql).await;
        text(&context, &format!("SET tsql.rules.{rule} = false")).await;
        assert_ne!(text(&context, sql).await, on, "{rule}");
        text(&context, &format!("SET tsql.rules.{rule} = true")).await;
        assert_eq!(text(&context, sql).await, on, "{rule}");
    }
}

#[tokio::test]
async fn unknown_rules_are_rejected() {
    let context = new_context(None).unwrap();
    let unknown = collect(&context, "SET tsql.rules.ful_sort = false").await;
    let unknown = unknown.unwrap_err().to_string();
    assert!(
        unknown.contains("did you mean `tsql.rules.full_sort`?"),
        "{unknown}"
    );
}
