//! Random queries of random stores with small files: results with and without pre-aggregates are equal.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int16Array, Int32Array, Int64Array, StringArray};
use datafusion::prelude::SessionContext;
use fastrand::Rng;
use tsql_store::Store;

use super::{add, reads_rollups, result_lines};
use crate::open_session;

/// Number of stores, and of queries per store (`TSQL_TEST_STORES`, `TSQL_TEST_QUERIES`).
const STORES: u64 = 2;
const QUERIES: u64 = 30;

/// Number of rows of `graphs`; records refer to a few more.
const GRAPHS: i64 = 5;

const PLATFORMS: [&str; 3] = ["k80", "t4", "it's"];

fn env_number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Rows of a file: few labels, so that pre-aggregates are written, some of them NULL.
fn rows(random: &mut Rng, count: usize, source: i64) -> BTreeMap<&'static str, ArrayRef> {
    let few = random.i64(1..3);
    let mut of = |values: &[i64]| -> Vec<i64> {
        (0..count)
            .map(|_| values[random.usize(..values.len())])
            .collect()
    };
    let graphs: Vec<i64> = (0..few).map(|graph| 100 + graph * 2).collect();
    let graphs = of(&graphs);
    let errors = of(&[0, 0, 0, 4]);
    let repeats = of(&[2, 3]);
    let runtimes = of(&[-1, 1, 2, 3, 5, 8, 13, 1 << 20]);
    let texts = of(&[0, 0, 1]);
    let absent = random.bool();
    // Few multiples of 0.25: sums are exact in any order.
    let runtime = |(&quarters, &error): (&i64, &i64)| {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        (quarters > 0 && error == 0).then_some(quarters as f64 / 4.0)
    };
    let text = |value: &i64| (*value > 0 && !absent).then_some("a");
    let numbers = 0..i64::try_from(count).unwrap();
    let long = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let narrow = errors.iter().map(|&error| i16::try_from(error).unwrap());
    let counts = repeats.iter().map(|&count| i32::try_from(count).unwrap());
    BTreeMap::from([
        ("graph_id", long(graphs)),
        (
            "config_id",
            long(numbers.clone().map(|row| source * 10_000 + row).collect()),
        ),
        ("environment_id", long(vec![source % 2; count])),
        ("source_id", long(vec![source; count])),
        ("line", long(numbers.map(|row| row + 1).collect())),
        (
            "runtime_ns",
            Arc::new(
                runtimes
                    .iter()
                    .zip(&errors)
                    .map(runtime)
                    .collect::<Float64Array>(),
            ) as ArrayRef,
        ),
        (
            "repeat_count",
            Arc::new(Int32Array::from_iter_values(counts)),
        ),
        ("error_no", Arc::new(Int16Array::from_iter_values(narrow))),
        (
            "split",
            Arc::new(texts.iter().map(text).collect::<StringArray>()),
        ),
    ])
}

async fn store(random: &mut Rng) -> Store {
    let store = Store::create("memory:").await.unwrap();
    let graphs = 100..100 + GRAPHS;
    let keys = graphs.clone().map(|graph| format!("key {graph}"));
    let columns: BTreeMap<&str, ArrayRef> = BTreeMap::from([
        (
            "graph_id",
            Arc::new(Int64Array::from_iter_values(graphs.clone())) as ArrayRef,
        ),
        (
            "dataset",
            Arc::new(StringArray::from_iter_values(
                graphs.clone().map(|_| "tenset"),
            )),
        ),
        (
            "workload_key",
            Arc::new(StringArray::from_iter_values(keys)),
        ),
    ]);
    add(&store, "graphs", &[], columns).await;
    for source in 0..random.i64(2..6) {
        let platform = PLATFORMS[random.usize(..PLATFORMS.len())];
        let partition = [("dataset", "tenset"), ("platform", platform)];
        let count = random.usize(800..2000);
        add(&store, "records", &partition, rows(random, count, source)).await;
    }
    store
}

fn choose<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

/// Returns a random condition, mostly on labels.
fn condition(random: &mut Rng, depth: usize) -> String {
    if depth > 0 && random.u8(..3) == 0 {
        let (left, right) = (condition(random, depth - 1), condition(random, depth - 1));
        let word = choose(random, &["AND", "OR"]);
        return format!("({left} {word} {right})");
    }
    if depth > 0 && random.u8(..6) == 0 {
        let inner = condition(random, depth - 1);
        let word = choose(
            random,
            &["NOT (_)", "(_) IS NOT TRUE", "(_) IS TRUE", "(_) IS NULL"],
        );
        return word.replace('_', &inner);
    }
    let all = [
        "r.error_no = 0",
        "r.platform = 'k80'",
        "r.platform <> 't4'",
        "r.split = 'a'",
        "r.split IS NULL",
        "r.split > 'Z'",
        "r.graph_id IN (100, 104, 106)",
        "r.runtime_ns IS NOT NULL",
        "r.repeat_count + 1 > 3",
        "r.status = 'failed'",
        "r.source_id % 2 = r.environment_id",
        "r.collection IS NULL",
        "r.platform LIKE '%8%'",
        "(r.split IS DISTINCT FROM 'a')",
        "coalesce(r.split, 'n') = 'n'",
        "r.graph_id BETWEEN 101 AND 104",
        "r.graph_id NOT IN (SELECT graph_id FROM graphs WHERE workload_key <> 'key 102')",
        "r.graph_id NOT IN (SELECT nullif(graph_id, 103) FROM graphs)",
        "EXISTS (SELECT 1 FROM graphs AS e WHERE e.graph_id = r.graph_id)",
        "NOT EXISTS (SELECT 1 FROM graphs AS e WHERE e.graph_id = r.graph_id AND e.workload_key LIKE '%2')",
    ];
    choose(random, &all).to_owned()
}

fn aggregate(random: &mut Rng) -> String {
    let all = [
        "count(*)",
        "count(r.runtime_ns)",
        "sum(r.runtime_ns)",
        "avg(r.runtime_ns)",
        "min(r.runtime_ns)",
        "max(r.runtime_ns)",
        "count(r.split)",
        "count(DISTINCT r.graph_id)",
        "count(DISTINCT r.split)",
        "sum(r.repeat_count)",
        "min(r.source_id)",
        "max(r.split)",
        "sum(CASE WHEN r.error_no <> 0 THEN 1 ELSE 0 END)",
        "avg(CASE WHEN r.split IS NULL THEN 1.0 ELSE 0.0 END)",
        "count(CASE WHEN r.error_no = 0 THEN r.runtime_ns END)",
        "bool_or(r.error_no = 4)",
    ];
    let call = choose(random, &all);
    match random.u8(..5) {
        0 => format!("{call} FILTER (WHERE {})", condition(random, 1)),
        1 => {
            let chosen = [
                "sum(CASE WHEN _ THEN r.runtime_ns ELSE 0 END)",
                "count(CASE WHEN _ THEN r.runtime_ns END)",
                "max(CASE WHEN _ THEN r.runtime_ns END)",
                "sum(CASE WHEN _ THEN r.runtime_ns WHEN r.split = 'a' THEN 1 ELSE r.runtime_ns END)",
            ];
            // DataFusion does not support subqueries there.
            let mut chooses = condition(random, 1);
            while chooses.contains("SELECT") {
                chooses = condition(random, 1);
            }
            choose(random, &chosen).replacen(" _ ", &format!(" {chooses} "), 1)
        }
        _ => call.to_owned(),
    }
}

/// Returns a random FROM clause with `r`, and perhaps `g`.
fn random_source(random: &mut Rng) -> String {
    let join = "graphs AS g ON g.graph_id = r.graph_id";
    match random.u8(..9) {
        0 => format!("records AS r JOIN {join}"),
        1 => format!("records AS r LEFT JOIN {join}"),
        2 => format!("records AS r RIGHT JOIN {join}"),
        3 => format!("records AS r FULL JOIN {join} AND g.workload_key <> 'key 101'"),
        4 => {
            let (condition, limit) = (condition(random, 1), random.usize(..900));
            let skipped = choose(random, &["", " OFFSET 3"]);
            format!(
                "(SELECT * FROM records AS r WHERE {condition} ORDER BY source_id, line LIMIT {limit}{skipped}) AS r"
            )
        }
        5 => format!(
            "(SELECT * FROM records AS r WHERE {}) AS r",
            condition(random, 2)
        ),
        _ => "records AS r".to_owned(),
    }
}

/// Returns a query with windows over all rows of a label.
fn windows(random: &mut Rng) -> String {
    let calls = [
        "count(*)",
        "count(r.runtime_ns)",
        "sum(r.runtime_ns)",
        "avg(r.runtime_ns)",
        "min(r.runtime_ns)",
        "max(r.runtime_ns)",
    ];
    let labels = ["r.platform", "r.graph_id", "r.split", "r.graph_id, r.split"];
    let mut call = || {
        let (call, by) = (choose(random, &calls), choose(random, &labels));
        format!("{call} OVER (PARTITION BY {by})")
    };
    let (first, second) = (call(), call());
    let condition = condition(random, 1);
    format!(
        "SELECT a, b, count(*), min(config_id), max(config_id) FROM (SELECT r.config_id, {first} AS a, {second} AS b \
         FROM records AS r WHERE {condition}) AS q GROUP BY a, b"
    )
}

fn random_query(random: &mut Rng) -> String {
    if random.u8(..8) == 0 {
        return windows(random);
    }
    let keys = [
        "r.platform",
        "r.graph_id",
        "r.split",
        "r.status",
        "r.error_no",
        "r.graph_id % 3",
        "r.environment_id",
    ];
    let mut own: Vec<&str> = (0..random.usize(..4))
        .map(|_| choose(random, &keys))
        .collect();
    own.sort_unstable();
    own.dedup();
    let calls: Vec<String> = (0..random.usize(1..4)).map(|_| aggregate(random)).collect();
    let mut shown: Vec<String> = own.iter().map(ToString::to_string).collect();
    shown.extend(calls.iter().cloned());
    let named = shown
        .iter()
        .zip('a'..)
        .map(|(text, name)| format!("{text} AS {name}"));
    let named: Vec<String> = named.collect();
    let mut sql = format!("SELECT {} FROM {}", named.join(", "), random_source(random));
    if random.bool() {
        sql += &format!(" WHERE {}", condition(random, 2));
    }
    if !own.is_empty() {
        let list = own.join(", ");
        let by = match random.u8(..8) {
            0 => format!("CUBE ({list})"),
            1 => format!("ROLLUP ({list})"),
            2 => format!("GROUPING SETS (({list}), ({}), ())", own[0]),
            _ => list,
        };
        sql += &format!(" GROUP BY {by}");
    }
    if random.u8(..5) == 0 {
        sql += &format!(
            " HAVING {} > {}",
            calls[0].replace("bool_or(r.error_no = 4)", "count(*)"),
            random.u8(..60)
        );
        sql = sql.replace("HAVING max(r.split)", "HAVING count(r.split)");
    }
    match random.u8(..6) {
        0 => format!("SELECT count(*), min(a) FROM ({sql}) AS q"),
        1 => format!("{sql} UNION ALL {sql}"),
        2 => format!("SELECT * FROM ({sql}) AS q WHERE a IS NOT NULL"),
        _ => sql,
    }
}

/// DataFusion does not plan EXISTS below OR, for example.
async fn can_be_planned(context: &SessionContext, sql: &str) -> bool {
    match context.sql(sql).await {
        Ok(frame) => frame.create_physical_plan().await.is_ok(),
        Err(_) => false,
    }
}

#[tokio::test]
#[ignore = "full tier"]
async fn random_queries_have_equal_results() {
    let seed = env_number("TSQL_TEST_SEED", 11);
    let (mut from_sums, mut asked, mut refused) = (0, 0, 0);
    for number_of_store in 0..env_number("TSQL_TEST_STORES", STORES) {
        let mut random = Rng::with_seed(seed + number_of_store);
        let store = store(&mut random).await;
        let (sums, rows) = (
            open_session(&store).await.unwrap(),
            open_session(&store).await.unwrap(),
        );
        rows.sql("SET tsql.rules.preaggregates = false")
            .await
            .unwrap();
        for _ in 0..env_number("TSQL_TEST_QUERIES", QUERIES) {
            let sql = random_query(&mut random);
            match (
                can_be_planned(&sums, &sql).await,
                can_be_planned(&rows, &sql).await,
            ) {
                (true, true) => {}
                (false, false) => {
                    refused += 1;
                    continue;
                }
                _ => panic!("only one of them refuses {sql}"),
            }
            assert!(!reads_rollups(&rows, &sql).await, "{sql}");
            from_sums += u64::from(reads_rollups(&sums, &sql).await);
            let by_sums = result_lines(&sums, &sql).await;
            assert_eq!(
                by_sums,
                result_lines(&rows, &sql).await,
                "store {number_of_store}: {sql}"
            );
            asked += 1;
        }
    }
    println!("{asked} questions, {from_sums} of them from sums, {refused} refused");
    assert!(
        from_sums * 6 > asked,
        "{from_sums} of {asked} questions from sums"
    );
    assert!(refused * 5 < asked, "{refused} refused");
}
