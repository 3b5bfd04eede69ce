//! Tests of SQL functions that need a session with the dialect and the rules of tsql.

mod digests;
mod first_by_order;
mod float_extremes;
mod part_of_split;
mod sliding;

use std::collections::BTreeSet;

use datafusion::prelude::SessionContext;
use tsql_dataset::demo::create_demo;
use tsql_dialect::collect;
use tsql_ml::splits::create_split;

use crate::open_session;
use crate::{Function, function, functions};

/// Names of the functions of a session.
fn names(context: &SessionContext) -> BTreeSet<String> {
    let state = context.state();
    let scalars = state.scalar_functions().keys();
    let names = scalars.chain(state.aggregate_functions().keys());
    names.cloned().collect()
}

#[tokio::test]
async fn every_function_of_ours_is_explained_by_an_example_that_runs() {
    let store = create_demo().await.unwrap();
    // A split that an example uses.
    let made = create_split(&store, "by-task", &Default::default()).await;
    made.unwrap();
    let context = open_session(&store).await.unwrap();
    let mut theirs = names(&SessionContext::new());
    // These are replaced by functions of tsql.
    for name in ["array_agg", "median", "percentile_cont"] {
        assert!(theirs.remove(name), "{name}");
    }
    let explained = functions();
    let mut added = names(&context);
    // Only plans call these functions.
    let of_plans = [
        "canonical_float",
        "checked_add",
        "checked_multiply",
        "checked_subtract",
        "named_cast",
    ];
    added.retain(|name| !theirs.contains(name) && !of_plans.contains(&name.as_str()));
    let aliases = explained.iter().flat_map(|one| &one.aliases);
    added.retain(|name| !aliases.clone().any(|alias| alias == name));
    let ours: Vec<&Function> = explained.iter().filter(|one| one.is_tsql).collect();
    assert_eq!(added, ours.iter().map(|one| one.name.clone()).collect());
    assert!(ours.len() > 45, "{ours:?}");
    for function in ours {
        let name = &function.name;
        assert!(!function.doc.is_empty(), "{name} says nothing");
        assert!(function.doc.contains(". Source: "), "{name} has no source");
        assert!(!function.arguments.is_empty(), "{name} has no arguments");
        for (argument, meaning) in &function.arguments {
            assert!(!meaning.is_empty(), "{name}: {argument} says nothing");
        }
        assert!(function.call.starts_with(&format!("{name}(")), "{name}");
        assert!(function.example.contains(&format!("{name}(")), "{name}");
        let rows = collect(&context, &function.example).await;
        rows.unwrap_or_else(|error| panic!("{}: {error}", function.example));
    }
}

#[tokio::test]
async fn sql_lists_functions_with_their_documentation() {
    let context = open_session(&create_demo().await.unwrap()).await.unwrap();
    let sql =
        "SELECT description FROM information_schema.routines WHERE routine_name = 'tile_score'";
    let batches = collect(&context, sql).await.unwrap();
    let text = arrow::util::pretty::pretty_format_batches(&batches).unwrap();
    assert!(text.to_string().contains("Kaggle"), "{text}");
    let all = collect(&context, "SHOW FUNCTIONS").await.unwrap();
    assert!(all.iter().map(|batch| batch.num_rows()).sum::<usize>() > 100);
}

#[test]
fn calls_show_what_may_be_left_out() {
    let call = |name| function(name).unwrap().call;
    assert_eq!(
        call("top_k_error"),
        "top_k_error(runtime, score, k[, index])"
    );
    assert_eq!(
        call("aggregate_speedup_score"),
        "aggregate_speedup_score(speedup, passes, status[, p[, b[, interpretation]]])"
    );
    let unknown = function("nothing").unwrap_err().to_string();
    assert!(unknown.contains("tile_score"), "{unknown}");
}

#[tokio::test]
async fn every_function_of_a_session_is_listed_under_all_its_names() {
    let context = open_session(&create_demo().await.unwrap()).await.unwrap();
    let listed = functions();
    let first_of_theirs = listed.iter().position(|one| !one.is_tsql).unwrap();
    assert!(listed[first_of_theirs..].iter().all(|one| !one.is_tsql));
    let called = listed
        .iter()
        .flat_map(|one| one.aliases.iter().chain([&one.name]));
    let called: BTreeSet<String> = called.cloned().collect();
    let missing: Vec<String> = names(&context).difference(&called).cloned().collect();
    assert_eq!(missing, [""; 0]);
    for one in &listed {
        assert!(!one.doc.is_empty() && one.call.contains('('), "{one:?}");
    }
    assert_eq!(function("arg_min").unwrap().name, "min_by");
    assert!(function("row_number").unwrap().mentions("NUMBER"));
}
