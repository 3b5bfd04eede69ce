use super::*;

fn rewritten_sql(sql: &str) -> String {
    parse_statements(sql)
        .unwrap()
        .pop_front()
        .unwrap()
        .to_string()
}

#[test]
fn fetch_is_a_limit() {
    assert_eq!(
        rewritten_sql("SELECT q FETCH FIRST 5 ROWS ONLY"),
        "SELECT q LIMIT 5"
    );
    assert_eq!(
        rewritten_sql("SELECT q FETCH NEXT ROW ONLY"),
        "SELECT q LIMIT 1"
    );
    let offset = rewritten_sql("SELECT q OFFSET 2 ROWS FETCH FIRST 5 ROWS ONLY");
    assert_eq!(offset, "SELECT q LIMIT 5 OFFSET 2 ROWS");
    let inside = rewritten_sql("SELECT * FROM (SELECT q FETCH FIRST ROW ONLY) AS t");
    assert_eq!(inside, "SELECT * FROM (SELECT q LIMIT 1) AS t");
    for refused in [
        "SELECT q FETCH FIRST 5 PERCENT ROWS ONLY",
        "SELECT q FETCH FIRST 5 ROWS WITH TIES",
    ] {
        assert!(
            matches!(parse_statements(refused), Err(Error::Refused(_))),
            "{refused}"
        );
    }
}

#[test]
fn names_are_unique() {
    for (sql, wanted) in [
        (
            "SELECT a, a, A FROM t",
            "SELECT a, a AS \"a_2\", A AS \"a_3\" FROM t",
        ),
        (
            "SELECT a, CAST(a AS DOUBLE) FROM t",
            "SELECT a, CAST(a AS DOUBLE) AS \"a_2\" FROM t",
        ),
        (
            "SELECT MIN(a), sum(b) OVER (ORDER BY c), t.user FROM t",
            "SELECT MIN(a) AS \"min(a)\", sum(b) OVER (ORDER BY c) AS \"sum(b) OVER (ORDER BY c)\", t.user FROM t",
        ),
        (
            "SELECT a[1], t.a[1:2], s.x, UNNEST([1, 2]), unnest(a) FROM t",
            "SELECT a[1] AS \"a[1]\", t.a[1:2] AS \"t.a[1:2]\", s.x, UNNEST([1, 2]) AS \"unnest([1, 2])\", \
             unnest(a) AS \"unnest(a)\" FROM t",
        ),
        ("SELECT a.x, b.x FROM a, b", "SELECT a.x, b.x FROM a, b"),
        ("SELECT a, b AS a FROM t", "SELECT a, b AS a FROM t"),
        (
            "SELECT a AS \"a_2\", b, b FROM t",
            "SELECT a AS \"a_2\", b, b AS \"b_2\" FROM t",
        ),
        (
            "SELECT a, a AS \"a_2\", a FROM t",
            "SELECT a, a AS \"a_2\", a AS \"a_3\" FROM t",
        ),
        (
            "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)",
            "SELECT (SELECT count(*) AS \"count(*)\" FROM a) AS \"count(*)\", (SELECT count(*) AS \"count(*)\" FROM b) AS \"count(*)_2\"",
        ),
        (
            "SELECT 1, -2.5, 'a', round(b, 2), 1 FROM t",
            "SELECT 1 AS \"1\", -2.5 AS \"-2.5\", 'a' AS \"'a'\", round(b, 2) AS \"round(b, 2)\", 1 AS \"1_2\" FROM t",
        ),
        (
            "COPY (SELECT a, a FROM t) TO 'x.csv'",
            "COPY (SELECT a, a AS \"a_2\" FROM t) TO x.csv",
        ),
    ] {
        assert_eq!(rewritten_sql(sql), wanted);
    }
}

#[test]
fn rows_in_a_subquery_exist() {
    let exists = rewritten_sql("SELECT q FROM t WHERE (a, b + 1) IN (SELECT x, y FROM u) AND c");
    assert!(
        exists.contains("EXISTS (SELECT 1 AS \"1\" FROM (SELECT x, y FROM u) AS "),
        "{exists}"
    );
    assert!(
        exists.contains("= (a)") && exists.contains("= (b + 1)"),
        "{exists}"
    );
    for condition in [
        "(a, b) NOT IN (SELECT x, y FROM u)",
        "NOT ((a, b) IN (SELECT x, y FROM u))",
    ] {
        let absent = rewritten_sql(&format!("SELECT q FROM t WHERE {condition}"));
        assert!(
            absent.contains("WHERE NOT EXISTS (") && absent.contains("IS NOT FALSE"),
            "{absent}"
        );
    }
}

#[test]
fn values_are_selected_from() {
    assert_eq!(
        rewritten_sql("SELECT q FROM t WHERE a NOT IN (VALUES (1), (2))"),
        "SELECT q FROM t WHERE a NOT IN (SELECT * FROM (VALUES (1), (2)) AS __values)"
    );
}

#[test]
fn what_is_distinct_ends_at_and() {
    for (condition, wanted) in [
        ("x IS DISTINCT FROM y AND z", "(x IS DISTINCT FROM y) AND z"),
        (
            "p AND x IS NOT DISTINCT FROM y OR z",
            "p AND (x IS NOT DISTINCT FROM y) OR z",
        ),
        (
            "x IS DISTINCT FROM y AND z IS DISTINCT FROM w OR v",
            "(x IS DISTINCT FROM y) AND (z IS DISTINCT FROM w) OR v",
        ),
        (
            "NOT x IS DISTINCT FROM y AND z",
            "(NOT x IS DISTINCT FROM y) AND z",
        ),
        (
            "x IS DISTINCT FROM (y AND z)",
            "(y AND z) IS DISTINCT FROM x",
        ),
        (
            "(x IS DISTINCT FROM y OR v) AND z",
            "((x IS DISTINCT FROM y) OR v) AND z",
        ),
        ("x = y AND z OR v", "x = y AND z OR v"),
        (
            "CASE WHEN x IS DISTINCT FROM y AND z THEN v END = w",
            "CASE WHEN (x IS DISTINCT FROM y) AND z THEN v END = w",
        ),
    ] {
        let wanted = rewritten_sql(&format!("SELECT {wanted} AS c"));
        let wanted = wanted.replace("(x IS DISTINCT FROM y)", "x IS DISTINCT FROM y");
        let wanted = wanted.replace("(x IS NOT DISTINCT FROM y)", "x IS NOT DISTINCT FROM y");
        let wanted = wanted.replace("(z IS DISTINCT FROM w)", "z IS DISTINCT FROM w");
        let wanted = wanted.replace("(NOT x IS DISTINCT FROM y)", "NOT x IS DISTINCT FROM y");
        assert_eq!(
            rewritten_sql(&format!("SELECT {condition} AS c")),
            wanted,
            "{condition}"
        );
    }
}

#[test]
fn too_long_or_deep_sql_is_rejected_with_a_hint() {
    let chain = |word: &str, count: usize| vec!["1"; count].join(word);
    for (sql, wanted) in [
        (
            format!("SELECT {}", chain(" + ", 50_000)),
            "more than 500 nested operators",
        ),
        (
            format!("SELECT {}", chain(" || ", 600)),
            "concat(a, b, ...)",
        ),
        (
            format!("SELECT q{}", "::int".repeat(600)),
            "more than 500 nested operators",
        ),
        (
            format!("SELECT {}", chain("+", 200_000)),
            "a chain of more than",
        ),
        (
            format!("SELECT q WHERE {}", chain(" OR ", 200_000)),
            "`x IN (...)`",
        ),
        (
            chain(" UNION SELECT ", 5000).replacen('1', "SELECT q", 1),
            "5000 queries in one UNION",
        ),
        (
            format!("SELECT {}1{}", "(".repeat(200), ")".repeat(200)),
            "nested too deeply",
        ),
    ] {
        let error = parse_statements(&sql).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    // Lists are not chains, and neither are their elements.
    let list = (0..200_000).map(|n| format!("{n} + 1"));
    let list = list.collect::<Vec<_>>().join(", ");
    assert!(parse_statements(&format!("SELECT q WHERE 1 IN ({list})")).is_ok());
    assert!(parse_statements(&format!("SELECT q WHERE {}", chain(" OR ", 20_000))).is_ok());
}

#[test]
fn calls_nest_without_taking_twice_as_long_each() {
    let sql = format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40));
    assert!(parse_statements(&sql).is_ok());
    let named = rewritten_sql("SELECT f(a => 1, b)");
    assert_eq!(named, "SELECT f(a => 1, b) AS \"f(a => 1, b)\"");
}

#[test]
fn a_query_may_begin_with_its_tables() {
    for (sql, wanted) in [
        ("FROM t", "SELECT * FROM t"),
        (
            "FROM t WHERE a > 1 LIMIT 2",
            "SELECT * FROM t WHERE a > 1 LIMIT 2",
        ),
        ("FROM t SELECT a", "FROM t SELECT a"),
        ("FROM t SELECT a WHERE b", "FROM t SELECT a WHERE b"),
        (
            "FROM t UNION ALL FROM u",
            "SELECT * FROM t UNION ALL SELECT * FROM u",
        ),
        (
            "WITH u AS (FROM t) FROM u",
            "WITH u AS (SELECT * FROM t) SELECT * FROM u",
        ),
        ("EXPLAIN FROM t", "EXPLAIN SELECT * FROM t"),
        ("SELECT q FROM (FROM t)", "SELECT q FROM (SELECT * FROM t)"),
        ("SELECT \"from\" FROM t", "SELECT \"from\" FROM t"),
        (
            "SELECT extract(year FROM d) AS y FROM t",
            "SELECT EXTRACT(YEAR FROM d) AS y FROM t",
        ),
        (
            "SELECT a IS DISTINCT FROM b AS c",
            "SELECT a IS DISTINCT FROM b AS c",
        ),
        ("SELECT q; FROM t", "SELECT q"),
    ] {
        assert_eq!(rewritten_sql(sql), wanted);
    }
    assert_eq!(
        parse_statements("SELECT q; FROM t; FROM u").unwrap().len(),
        3
    );
    assert!(parse_statements("FROM").is_err());
}

#[test]
fn statements_in_parentheses_nest_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let sql = format!(
            "SELECT * FROM {}t{}",
            "(SUMMARIZE ".repeat(depth),
            ")".repeat(depth)
        );
        parse_statements(&sql).map(|_| ())
    };
    assert!(nested(10).is_ok());
    for depth in [30, 3000] {
        assert!(nested(depth).is_err(), "{depth}");
    }
}

#[test]
fn a_list_may_end_in_a_comma() {
    for (sql, wanted) in [
        ("SELECT a, FROM t", "SELECT a FROM t"),
        ("SELECT a, b,", "SELECT a, b"),
        ("SELECT a, ; SELECT 2", "SELECT a"),
        (
            "SELECT a FROM t WHERE a IN (1, 2, )",
            "SELECT a FROM t WHERE a IN (1, 2)",
        ),
        (
            "SELECT a, FROM t GROUP BY a, ORDER BY a, LIMIT 1",
            "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1",
        ),
        ("SELECT a, top, sort FROM t", "SELECT a, top, sort FROM t"),
        ("SELECT ',' AS c", "SELECT ',' AS c"),
    ] {
        assert_eq!(rewritten_sql(sql), wanted);
    }
    for refused in ["SELECT , a", "SELECT a,, b FROM t", "SELECT f(,)"] {
        assert!(parse_statements(refused).is_err(), "{refused}");
    }
}

#[test]
fn all_columns_are_counted_for_order_by_all() {
    for (sql, wanted) in [
        (
            "SELECT a, b + c FROM t ORDER BY ALL",
            "SELECT a, b + c AS \"b + c\" FROM t ORDER BY 1, 2",
        ),
        (
            "SELECT a FROM t ORDER BY ALL DESC",
            "SELECT a FROM t ORDER BY 1 DESC",
        ),
        (
            "SELECT a FROM t UNION SELECT b FROM t ORDER BY ALL",
            "SELECT a FROM t UNION SELECT b FROM t ORDER BY 1",
        ),
        (
            "SELECT * FROM t ORDER BY ALL",
            "SELECT * FROM t ORDER BY ALL",
        ),
    ] {
        assert_eq!(rewritten_sql(sql), wanted);
    }
    let unknown = "SELECT * FROM t UNION SELECT * FROM u ORDER BY ALL";
    assert!(matches!(parse_statements(unknown), Err(Error::Refused(_))));
}

#[test]
fn calls_of_duckdb_are_calls_that_there_are_and_keep_their_names() {
    for (sql, wanted) in [
        ("SELECT year(d) AS y", "SELECT date_part('year', d) AS y"),
        (
            "SELECT year(d)",
            "SELECT date_part('year', d) AS \"year(d)\"",
        ),
        (
            "SELECT q FROM t GROUP BY dayofweek(d)",
            "SELECT q FROM t GROUP BY date_part('dow', d)",
        ),
        (
            "SELECT count_if(a > 1) AS n",
            "SELECT count(CASE WHEN a > 1 THEN 1 END) AS n",
        ),
        (
            "SELECT string_agg(a) AS s",
            "SELECT string_agg(a, ',') AS s",
        ),
        (
            "SELECT quantile_cont(a, [0.1, 0.9]) AS q",
            "SELECT ARRAY[quantile_cont(a, 0.1), quantile_cont(a, 0.9)] AS q",
        ),
        (
            "SELECT quantile_cont(a, 0.1) AS q",
            "SELECT quantile_cont(a, 0.1) AS q",
        ),
        ("SELECT year FROM t", "SELECT year FROM t"),
        (
            "SELECT count_if(DISTINCT a) FILTER (WHERE b) OVER (ORDER BY c) AS n",
            "SELECT count(DISTINCT CASE WHEN a THEN 1 END) FILTER (WHERE b) OVER (ORDER BY c) AS n",
        ),
        (
            "SELECT mod(a + 1, if(b, 2, 3)) AS n",
            "SELECT (a + 1) % CASE WHEN b THEN 2 ELSE 3 END AS n",
        ),
        (
            "SELECT mod(a, 2) OVER () AS n, mod(DISTINCT a, 2) AS m",
            "SELECT mod(a, 2) OVER () AS n, mod(DISTINCT a, 2) AS m",
        ),
        (
            "SELECT mod(b, a) AS n, regexp_full_match(p, x) AS m",
            "SELECT b % a AS n, regexp_like(p, concat('^(?:', x, ')$')) AS m",
        ),
        (
            "SELECT {'a': 1}.a AS a, t.s['a'] AS b, t.s.a AS c FROM t",
            "SELECT {'a': 1}.'a' AS a, t.s['a'] AS b, t.s.a AS c FROM t",
        ),
        (
            "SELECT struct_pack(a := 1, b := 'x') AS s, 7 // 2 * 3 AS n",
            "SELECT named_struct('a', 1, 'b', 'x') AS s, 7 / 2 * 3 AS n",
        ),
    ] {
        assert_eq!(rewritten_sql(sql), wanted);
    }
}

#[test]
fn comparisons_with_any_of_a_list_know_null() {
    for (sql, expected) in [
        (
            "SELECT q FROM t WHERE x = ANY([1, NULL])",
            "SELECT q FROM t WHERE x IN (1, NULL)",
        ),
        (
            "SELECT q FROM t WHERE x = SOME(l)",
            "SELECT q FROM t WHERE NOT x <> ALL(l)",
        ),
        (
            "SELECT q FROM t WHERE x >= ANY(l)",
            "SELECT q FROM t WHERE NOT x < ALL(l)",
        ),
        (
            "SELECT q FROM t WHERE x = ANY(SELECT y FROM u)",
            "SELECT q FROM t WHERE x = ANY(SELECT y FROM u)",
        ),
    ] {
        assert_eq!(rewritten_sql(sql), expected);
    }
}

#[test]
fn distinct_rows_are_ordered_by_their_expressions() {
    for (sql, expected) in [
        (
            "SELECT DISTINCT x % 3, y FROM t ORDER BY y, x % 3 DESC",
            "SELECT DISTINCT x % 3 AS \"x % 3\", y FROM t ORDER BY y, 1 DESC",
        ),
        (
            "SELECT DISTINCT lower(x) AS l FROM t ORDER BY lower(x)",
            "SELECT DISTINCT lower(x) AS l FROM t ORDER BY 1",
        ),
        (
            "SELECT x % 3 FROM t ORDER BY x % 3",
            "SELECT x % 3 AS \"x % 3\" FROM t ORDER BY x % 3",
        ),
    ] {
        assert_eq!(rewritten_sql(sql), expected);
    }
}

#[test]
fn semi_joins_keep_the_left_side() {
    assert_eq!(
        rewritten_sql("SELECT q FROM a SEMI JOIN b ON a.x = b.x ANTI JOIN c USING (x)"),
        "SELECT q FROM a LEFT SEMI JOIN b ON a.x = b.x LEFT ANTI JOIN c USING(x)"
    );
}

#[test]
fn rows_are_compared_by_their_values() {
    for (sql, expected) in [
        ("(a, b) = (1, 2)", "(a = 1 AND b = 2)"),
        ("(a, b) <> (1, 2)", "NOT (a = 1 AND b = 2)"),
        ("(a, b) < (1, 2)", "(a < 1 OR a = 1 AND (b < 2))"),
        (
            "(a, b, c) >= (1, 2, 3)",
            "(a > 1 OR a = 1 AND (b > 2 OR b = 2 AND (c >= 3)))",
        ),
        (
            "(a, b) IN ((1, 2), (3, 4))",
            "((a = 1 AND b = 2) OR (a = 3 AND b = 4))",
        ),
        ("(a, b) NOT IN ((1, 2))", "NOT ((a = 1 AND b = 2))"),
        ("(a, b) < (1, 2, 3)", "(a, b) < (1, 2, 3)"),
        ("CASE a WHEN 1 THEN b END", "CASE WHEN a = 1 THEN b END"),
        (
            "CASE random() WHEN 1 THEN b END",
            "CASE random() WHEN 1 THEN b END",
        ),
    ] {
        let written = rewritten_sql(&format!("SELECT q FROM t WHERE {sql}"));
        assert_eq!(written, format!("SELECT q FROM t WHERE {expected}"));
    }
}

#[test]
fn a_list_of_tables_begins_with_records() {
    let listed = rewritten_sql("SHOW TABLES");
    let wanted =
        "ORDER BY CASE WHEN table_name = 'records' THEN 0 WHEN table_name = 'graphs' THEN 1 ";
    assert!(listed.contains(wanted), "{listed}");
    assert!(listed.ends_with(" END NULLS LAST, table_name"), "{listed}");
}
