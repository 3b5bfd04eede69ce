//! `tsql plot` and `tsql report html`: the data in plots equals the results of SQL.

use serde_json::Value;

use crate::support::{Place, shared};

/// Returns the list in an attribute of a series of a plot.
fn list(svg: &str, series: &str, name: &str) -> Vec<Value> {
    let mark = format!("data-series=\"{series}\"");
    let group = svg
        .split(&mark)
        .filter(|rest| rest.split('>').next().is_some_and(|tag| tag.contains(name)));
    let group = group.last().unwrap_or_else(|| panic!("{series} {name}"));
    let text = group.split(&format!("{name}=\"")).nth(1).unwrap();
    let text = text.split('"').next().unwrap().replace("&quot;", "\"");
    serde_json::from_str(&text).unwrap()
}

/// Returns the rows of a query as JSON.
fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let ran = place.ok(&["--sample", "--format", "json", "-c", sql]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn column(rows: &[Value], name: &str) -> Vec<Value> {
    rows.iter().map(|row| row[name].clone()).collect()
}

#[test]
#[ignore = "full tier"]
fn plots_contain_the_data_of_the_result() {
    let place = Place::new();
    let sql = "SELECT line, runtime_ns, platform FROM records WHERE status = 'ok' AND line <= 40 ORDER BY line";
    place.ok(&[
        "--sample",
        "plot",
        sql,
        "--kind",
        "line",
        "-x",
        "line",
        "-y",
        "runtime_ns",
        "--by",
        "platform",
        "-o",
        "a.svg",
    ]);
    let svg = String::from_utf8(place.read("a.svg")).unwrap();
    for platform in ["epyc-1t", "epyc-2t"] {
        let wanted = rows(
            &place,
            &format!(
                "SELECT line, runtime_ns FROM ({sql}) WHERE platform = '{platform}' ORDER BY line"
            ),
        );
        assert!(wanted.len() > 10);
        let lines: Vec<f64> = list(&svg, platform, "data-x")
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect();
        let expected: Vec<f64> = column(&wanted, "line")
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect();
        assert_eq!(lines, expected);
        let times: Vec<f64> = list(&svg, platform, "data-y")
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect();
        let expected: Vec<f64> = column(&wanted, "runtime_ns")
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect();
        assert_eq!(times, expected);
    }
    // The unit comes from the schema, also for an alias.
    place.ok(&[
        "--sample",
        "plot",
        "SELECT runtime_ns AS t FROM records",
        "-o",
        "b.svg",
        "--theme",
        "dark",
    ]);
    let svg = String::from_utf8(place.read("b.svg")).unwrap();
    assert!(
        svg.contains(">t (µs)</text>") || svg.contains(">t (ms)</text>"),
        "{svg}"
    );
    let counted: f64 = list(&svg, "", "data-y")
        .iter()
        .map(|count| count.as_f64().unwrap())
        .sum();
    let measured = rows(&place, "SELECT count(runtime_ns) AS n FROM records");
    assert_eq!(Some(counted), measured[0]["n"].as_f64());
    place.ok(&[
        "--sample",
        "plot",
        "SELECT platform FROM records",
        "-o",
        "c.png",
        "--width",
        "700",
    ]);
    let png = place.read("c.png");
    assert!(png.starts_with(b"\x89PNG") && png[16..20] == [0, 0, 2, 188]);
    place.ok(&["--sample", "plot", "@failures-by-kind", "-o", "d.html"]);
    let html = String::from_utf8(place.read("d.html")).unwrap();
    assert!(html.contains("SELECT f.platform, f.error_no") && !html.contains("https://"));
    let shown = place.ok(&[
        "--sample",
        "plot",
        sql,
        "-x",
        "line",
        "-y",
        "runtime_ns",
        "--kind",
        "step",
    ]);
    assert!(
        shown.stdout.lines().count() >= 20
            && shown.stdout.contains("runtime (")
            && !shown.stdout.contains('\x1b')
    );
}

#[test]
#[ignore = "full tier"]
fn impossible_plots_are_errors_with_hints() {
    let place = Place::new();
    let sql = "SELECT platform, runtime_ns FROM records";
    for (args, code, expected) in [
        (
            &["plot", sql, "--kind", "histogram", "-x", "platform"][..],
            2,
            "column `platform` is text, expected a number for a plot of kind histogram",
        ),
        (
            &["plot", sql, "-x", "runtime"],
            2,
            "no column `runtime`\nhint: it has platform, runtime_ns",
        ),
        (
            &["plot", sql, "-o", "x.gif"],
            2,
            "`x.gif` has no known extension\nhint: FILE.svg, FILE.png or FILE.html",
        ),
        (&["plot", sql, "--kind", "pie"], 2, "pie"),
        (
            &["plot", "SELECT 1; SELECT 2"],
            2,
            "a plot shows the result of one query",
        ),
        (&["plot", "SELECT x"], 1, "x"),
        (&["plot"], 2, "a plot needs a query"),
        (
            &["plot", "@failures-by-knd"],
            2,
            "did you mean `failures-by-kind`?",
        ),
        (
            &["plot", sql, "-o", "x.png", "--width", "99999"],
            2,
            "1 to 16384",
        ),
        (
            &["plot", "graph", "12", "-o", "x.svg"],
            2,
            "no graph named `12`",
        ),
        (&["plot", "graph", "12"], 2, "no graph named `12`"),
    ] {
        let all = [&["--sample"][..], args].concat();
        let ran = place.tsql(&all);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
    }
    // An empty result is an error, and writes no file.
    let empty = format!("{sql} WHERE false");
    for args in [
        &[
            "--sample",
            "plot",
            &empty,
            "--kind",
            "ecdf",
            "-x",
            "runtime_ns",
            "-o",
            "none.svg",
        ][..],
        &["--sample", "plot", "@graphnet-speedups", "-o", "none.svg"],
    ] {
        let ran = place.tsql(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
        let expected = "error: the result has no rows, so there is nothing to plot";
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    assert!(!place.path().join("none.svg").exists());
}

#[test]
fn every_query_with_a_plot_plots_the_sample_or_reports_missing_data() {
    let place = Place::new();
    for query in [
        "best-so-far",
        "platforms-compared",
        "noise-by-runtime",
        "program-spread",
        "label-distribution",
        "search-curves",
        "platform-summary",
    ] {
        let ran = place.ok(&["--sample", "queries", query, "--plot", "q.svg"]);
        let svg = String::from_utf8(place.read("q.svg")).unwrap();
        assert!(svg.contains("class=\"series\""), "{query}: {}", ran.stderr);
    }
    // The fraction of the best speed never decreases.
    place.ok(&[
        "--sample",
        "plot",
        "--question",
        "best-so-far",
        "-o",
        "best.svg",
    ]);
    let svg = String::from_utf8(place.read("best.svg")).unwrap();
    let shares: Vec<f64> = list(&svg, "epyc-1t", "data-y")
        .iter()
        .map(|share| share.as_f64().unwrap())
        .collect();
    assert!(
        shares.len() == 20
            && shares.is_sorted()
            && shares.iter().all(|share| (0.0..=1.0).contains(share)),
        "{shares:?}"
    );
}

#[test]
fn the_html_report_is_one_file_with_the_store_contents() {
    let place = Place::new();
    let ran = place.ok(&["--sample", "page", "-o", "store.html"]);
    assert!(ran.stderr.contains("wrote store.html"), "{}", ran.stderr);
    let html = String::from_utf8(place.read("store.html")).unwrap();
    assert!(html.len() < 10 << 20);
    for text in [
        "<h1>tsql · the sample</h1>",
        "data-name=\"epyc-1t\"",
        "<dt>records</dt><dd>480</dd>",
        "Best so far",
        "tsql plot @platforms-compared",
    ] {
        assert!(html.contains(text), "{text}");
    }
    for fetched in ["src=\"http", "href=\"http", "url(", "@import"] {
        assert!(!html.contains(fetched), "{fetched}");
    }
}

#[test]
#[ignore = "full tier"]
fn graphs_of_real_files_are_plotted() {
    let Some(data) = shared().map(|shared| shared.join("data")) else {
        return;
    };
    let place = Place::new();
    let npz = data.join("tpugraphs");
    let network_info = data.join("tenset/network_info");
    place.ok(&[
        "ingest",
        "-q",
        npz.to_str().unwrap(),
        network_info.to_str().unwrap(),
    ]);
    let all = place.ok(&["--format", "json", "-c", "SELECT CAST(graph_id AS VARCHAR) AS graph_id, dataset, node_count, slot_count FROM graphs WHERE node_count > 0 ORDER BY node_count"]);
    let all: Vec<Value> = serde_json::from_str(&all.stdout).unwrap();
    let small = all
        .iter()
        .find(|graph| graph["dataset"] == "tpugraphs" && graph["slot_count"].as_u64() > Some(0));
    let largest = all
        .iter()
        .rfind(|graph| graph["dataset"] == "tpugraphs")
        .unwrap();
    let drawn = |graph: &Value| {
        place.ok(&[
            "plot",
            "graph",
            graph["graph_id"].as_str().unwrap(),
            "-o",
            "graph.svg",
        ]);
        String::from_utf8(place.read("graph.svg")).unwrap()
    };
    if let Some(small) = small.filter(|small| small["node_count"].as_u64() <= Some(600)) {
        let svg = drawn(small);
        assert_eq!(
            Some(svg.matches("class=\"node\"").count() as u64),
            small["node_count"].as_u64()
        );
        assert!(svg.contains("layout depends on the configuration"));
    }
    let svg = drawn(largest);
    let nodes = svg.matches("class=\"node\"").count();
    assert!(nodes > 20 && nodes <= 600, "{nodes}");
}
