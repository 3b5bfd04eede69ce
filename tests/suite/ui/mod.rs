//! Requests to `tsql ui`, as a browser sends them. The page itself is tested in a browser: see `browser`.

mod server;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Place;
use server::Server;

#[test]
fn requests_without_the_cookie_or_from_other_pages_are_rejected() {
    let server = Server::sample();
    let (host, cookie) = (server.host(), server.cookie.clone());
    let page = server.get("");
    assert!(page.code == 200 && page.body.contains("script.js"));
    let policy = page
        .headers
        .split_once("content-security-policy: ")
        .unwrap()
        .1;
    let policy = policy.lines().next().unwrap();
    assert!(
        policy.contains("default-src 'none'")
            && !policy.contains("unsafe")
            && !policy.contains("http")
    );
    assert!(!page.headers.contains("access-control"));
    // The HTML report contains a script. It is sandboxed, and has no rights of this page.
    let store = format!("GET {}/store.html HTTP/1.1", server.place);
    let store = server.request(&store, &[("host", &server.host())], "");
    let sandbox = "content-security-policy: sandbox allow-scripts; default-src 'none';";
    assert!(store.code == 403 && store.headers.contains(sandbox));
    let place = server.place.as_str();
    let inside = format!("GET {place}/catalog HTTP/1.1");
    let login = format!("GET /?token={} HTTP/1.1", server.token);
    let localhost = host.replace("127.0.0.1", "localhost");
    let foreign = format!("evil.example:{}", server.port);
    let own = ("host", host.as_str());
    let known = ("cookie", cookie.as_str());
    for (line, headers) in [
        (&inside, vec![own, known]),
        (&inside, vec![("host", &localhost), known]),
        (&login, vec![("host", &localhost)]),
    ] {
        assert_eq!(
            server.request(line, &headers, "").code,
            200,
            "{line} {headers:?}"
        );
    }
    let wrong = format!("{}0", &cookie[..cookie.len() - 1]);
    let wrong = if wrong == cookie {
        format!("{}1", &cookie[..cookie.len() - 1])
    } else {
        wrong
    };
    let wrong_login = format!("GET /?token={} HTTP/1.1", "0".repeat(32));
    let absolute = format!("GET http://{foreign}{place}/catalog HTTP/1.1");
    for (line, headers) in [
        (&inside, vec![own]),
        (&inside, vec![own, ("cookie", &wrong)]),
        (&"GET / HTTP/1.1".to_owned(), vec![own]),
        (&"GET / HTTP/1.1".to_owned(), vec![own, known]),
        (&wrong_login, vec![own]),
        // A foreign host name that resolves to 127.0.0.1.
        (&inside, vec![("host", &foreign), known]),
        (&login, vec![("host", &foreign)]),
        (&absolute, vec![own, known]),
        (&inside, vec![known]),
        // A page of another site, or of another port.
        (
            &inside,
            vec![own, known, ("origin", "https://evil.example")],
        ),
        (&inside, vec![own, known, ("origin", "http://127.0.0.1:1")]),
        (&inside, vec![own, known, ("origin", "null")]),
        (&inside, vec![own, known, ("sec-fetch-site", "cross-site")]),
        (&inside, vec![own, known, ("sec-fetch-site", "same-site")]),
        // A request that a form of another page can post.
        (
            &format!("POST {place}/query HTTP/1.1"),
            vec![own, known, ("content-type", "text/plain")],
        ),
        (&format!("DELETE {place}/query HTTP/1.1"), vec![own, known]),
        (&format!("OPTIONS {place}/query HTTP/1.1"), vec![own, known]),
        (&"GET /elsewhere HTTP/1.1".to_owned(), vec![own]),
    ] {
        let response = server.request(line, &headers, r#"{"sql":"SELECT 1"}"#);
        // A request without a valid host gets 400 from hyper or 403 from the access check.
        assert!(
            matches!(response.code, 400 | 403),
            "{line} {headers:?}: {}",
            response.code
        );
        assert!(
            !response.headers.contains("set-cookie") && !response.body.contains("records"),
            "{line} {headers:?}"
        );
    }
    assert_eq!(server.get("elsewhere").code, 404);
}

#[test]
fn queries_only_read_and_need_an_option_to_read_files() {
    let folder = Place::new();
    let file = folder.write("x.csv", "a\n7\n");
    let out = folder.path().join("out.csv");
    let server = Server::start(folder.command(&["ui", "--sample", "--no-open"]));
    let read = format!("SELECT a FROM '{}'", file.display());
    for sql in [
        format!("COPY (SELECT 1) TO '{}'", out.display()),
        format!(
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'",
            file.display()
        ),
        "INSERT INTO records SELECT * FROM records".to_owned(),
        "DROP VIEW nodes".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        read.clone(),
    ] {
        let (_, end) = server.run_query(&json!({"sql": sql}));
        assert_eq!(end["error"]["kind"], "sql", "{sql}: {end}");
    }
    assert!(!out.exists());
    let (_, end) = server
        .run_query(&json!({"query": {"name": "tpugraphs-score", "values": {"predictions": file}}}));
    assert!(
        end["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("tsql ui --allow-files"),
        "{end}"
    );
    let with_files =
        Server::start(folder.command(&["ui", "--sample", "--no-open", "--allow-files"]));
    let (started, end) = with_files.run_query(&json!({"sql": read}));
    assert_eq!(end["done"]["rows"], 1);
    let rows = with_files.json(&format!("results/{}/rows", started["id"]));
    assert_eq!(rows["rows"], json!([["7"]]));
}

/// Processor time of a process, in hundredths of a second.
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_query_is_canceled_when_its_client_disconnects() {
    let server = Server::sample();
    for sql in [
        "SELECT count(*) FROM generate_series(1, 10000000) AS a, generate_series(1, 10000000) AS b WHERE a.value + b.value = 3",
        "SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 10000000) AS b WHERE a.value * b.value < 0",
        "SELECT a.value + b.value AS v FROM generate_series(1, 10000000) AS a, generate_series(1, 10000000) AS b ORDER BY v DESC",
        "SELECT a.value FROM generate_series(1, 10000000) AS a, generate_series(1, 10000000) AS b WHERE a.value + b.value < 0",
    ] {
        let stream = server.start_post("query", &json!({"sql": sql}));
        server.wait("it runs", |server| server.running() == 1);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(server.running(), 1, "it takes long");
        drop(stream);
        server.wait("it ends", |server| server.running() == 0);
        let process = server.child.as_ref().unwrap().id();
        server.wait("nothing computes", |_| {
            let before = processor_time(process);
            std::thread::sleep(Duration::from_millis(300));
            processor_time(process) - before <= 5
        });
    }
    // The next query runs.
    assert_eq!(
        server.run_query(&json!({"sql": "SELECT 1"})).1["done"]["rows"],
        1
    );
}

#[test]
#[ignore = "full tier"]
fn a_million_rows_are_paged_and_sorted_by_two_tabs() {
    let server = Server::start(Place::new().command(&[
        "ui",
        "--sample",
        "--no-open",
        "--memory-limit",
        "64MiB",
    ]));
    let million = "SELECT value AS n, 1000001 - value AS down, value % 10 AS digit FROM generate_series(1, 1000000) ORDER BY n";
    let (one, end) = server.run_query(&json!({"sql": million}));
    assert_eq!(
        (&end["done"]["rows"], &end["done"]["is_truncated"]),
        (&json!(1_000_000), &json!(false))
    );
    let (other, _) = server
        .run_query(&json!({"sql": "SELECT value * 2 AS n FROM generate_series(1, 5) ORDER BY n"}));
    let window = |id: &Value, query: &str| {
        let found = server.json(&format!("results/{id}/rows?{query}"));
        let rows = found["rows"].as_array().unwrap().clone();
        (found["row_count"].as_u64().unwrap(), rows)
    };
    let id = &one["id"];
    for (from, first) in [(0_u64, "1"), (499_990, "499991"), (999_990, "999991")] {
        let (all, rows) = window(id, &format!("from={from}&count=10"));
        assert_eq!((all, rows.len()), (1_000_000, 10));
        assert_eq!(rows[0][0], first);
        assert_eq!(rows[9][0], (from + 10).to_string());
    }
    assert!(window(id, "from=1000000").1.is_empty());
    assert_eq!(window(id, "from=5&count=100000").1.len(), 1000, "at most");
    let (_, rows) = window(id, "from=0&count=2&by=1");
    assert_eq!(
        rows,
        [json!(["1000000", "1", "0"]), json!(["999999", "2", "9"])]
    );
    // 100,000 rows of each digit, each in the order of the result: nines first.
    let (_, rows) = window(id, "from=99999&count=2&by=2&down=1");
    assert_eq!(
        rows,
        [json!(["999999", "2", "9"]), json!(["8", "999993", "8"])]
    );
    let value = server.json(&format!(
        "results/{id}/value?row=99999&column=0&by=2&down=1"
    ));
    assert_eq!(value["value"], "999999");
    assert_eq!(
        window(&other["id"], "").1,
        [["2"], ["4"], ["6"], ["8"], ["10"]].map(|row| json!(row))
    );
    let file = |id: &Value, query: &str| server.get(&format!("results/{id}/file/rows.csv{query}"));
    assert_eq!(
        file(&other["id"], "?by=0&down=1").body,
        "n\n10\n8\n6\n4\n2\n"
    );
    let whole = file(id, "").body;
    assert_eq!(
        (whole.lines().count(), whole.lines().last()),
        (1_000_001, Some("1000000,1,0"))
    );
    assert_eq!(file(id, "?by=3").code, 422);
    assert_eq!(server.get(&format!("results/{id}/file/rows.xls")).code, 404);
    assert_eq!(server.get(&format!("results/{id}/rows?by=3")).code, 422);
    assert_eq!(server.json("state")["results"], 2);
    server.post(&format!("results/{id}/delete"), &json!({}));
    assert_eq!(server.get(&format!("results/{id}/rows")).code, 422);
    assert_eq!(server.json("state")["results"], 1);
    #[cfg(target_os = "linux")]
    {
        let process = server.child.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let most = status
            .split_once("VmHWM:")
            .unwrap()
            .1
            .split_whitespace()
            .next();
        let most_kib: u64 = most.unwrap().parse().unwrap();
        assert!(most_kib < 600 << 10, "{most_kib} KiB");
    }
}

#[test]
fn large_results_are_cut_and_old_results_are_evicted() {
    use tsql::ui::{Ui, UiOptions};
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let ui = runtime.block_on(async {
        let store = tsql::Store::create("memory:").await.unwrap();
        let options = UiOptions::default().result_bytes(1 << 20);
        Ui::start(store, options).await.unwrap()
    });
    let url = ui.url().to_owned();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = std::thread::spawn(move || {
        let stopped = async {
            let _ = stopped.await;
        };
        runtime.block_on(ui.serve(stopped)).unwrap();
    });
    let server = Server::log_in(&url, None);
    let (started, end) =
        server.run_query(&json!({"sql": "SELECT value FROM generate_series(1, 10000000)"}));
    let rows = end["done"]["rows"].as_u64().unwrap();
    // A row has eight bytes, and the last batch may exceed the limit.
    assert!(
        end["done"]["is_truncated"] == true && (100_000..800_000).contains(&rows),
        "{end}"
    );
    for _ in 0..12 {
        server.run_query(&json!({"sql": "SELECT 1"}));
    }
    assert_eq!(server.json("state")["results"], 12);
    let old = server.get(&format!("results/{}/rows", started["id"]));
    assert!(
        old.code == 422 && old.body.contains("run the query again"),
        "{}",
        old.body
    );
    stop.send(()).unwrap();
    served.join().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
}

#[test]
fn errors_suggestions_built_in_queries_and_plots_are_served() {
    let server = Server::sample();
    let (_, end) = server.run_query(&json!({"sql": "SELECT platform,\n  runtime_n FROM records"}));
    assert_eq!(
        end["error"]["span"],
        json!({"line": 2, "column": 3, "length": 9}),
        "{end}"
    );
    let suggested = |before: &str, after: &str| {
        let typed = json!({"text": format!("{before}{after}"), "before": before});
        let response = server.post("completions", &typed);
        let found: Value = serde_json::from_str(&response.body).unwrap();
        let words = found["candidates"].as_array().unwrap().iter();
        let words = words.map(|word| word["value"].as_str().unwrap().to_owned());
        words.collect::<Vec<_>>()
    };
    assert!(suggested("SELECT * FROM rec", "").contains(&"records".to_owned()));
    let column = suggested("SELECT r.runtime_", " FROM records AS r");
    assert_eq!(column, ["runtime_ns"]);
    assert!(suggested("sel", "").contains(&"select ".to_owned()));
    assert!(suggested("SELECT * FROM '/et", "").is_empty(), "no files");
    let catalog = server.json("catalog");
    let tables = catalog["tables"].as_array().unwrap();
    let records = tables
        .iter()
        .find(|table| table["name"] == "records")
        .unwrap();
    let columns = records["columns"].as_array().unwrap();
    let runtime = columns
        .iter()
        .find(|column| column["name"] == "runtime_ns")
        .unwrap();
    assert!(runtime["unit"] == "ns" && !runtime["doc"].as_str().unwrap().is_empty());
    assert!(catalog["queries"].as_array().unwrap().len() >= 50);
    let request = json!({"query": {"name": "top-k-per-graph", "values": {"k": "1"}}});
    let (started, end) = server.run_query(&request);
    assert_eq!(started["query"]["values"]["k"], "1", "{started}");
    assert!(end["done"]["rows"].as_u64().unwrap() > 0);
    let (_, end) = server.run_query(&json!({"query": {"name": "tpugraphs-spread"}}));
    assert!(
        end["done"]["empty_reason"]
            .as_str()
            .unwrap()
            .contains("the store has no"),
        "{end}"
    );
    let (started, _) = server.run_query(&json!({"sql": "SELECT * FROM (VALUES ('b', 2.0), ('a', 4.0), ('b', 6.0)) AS t(platform, v)"}));
    let plot = |drawn: Value, form: &str| {
        let path = format!("results/{}/plot", started["id"]);
        server.post(&path, &json!({"chart": drawn, "format": form}))
    };
    let bars = plot(json!({"kind": "bar", "x": "platform", "y": "v"}), "page");
    // Mean of the values with one name: (2 + 6) / 2.
    assert!(
        bars.body
            .contains("data-names=\"[&quot;b&quot;,&quot;a&quot;]\" data-y=\"[4,4]\""),
        "{}",
        bars.body
    );
    let rejected = plot(json!({"kind": "histogram", "x": "platform"}), "page");
    assert!(
        rejected.code == 422 && rejected.body.contains("is text"),
        "{}",
        rejected.body
    );
}

#[test]
fn records_of_other_processes_appear() {
    let folder = Place::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let ingest = |what: &str| {
        let ran = folder.tsql(&["ingest", "--store", "s", &format!("{data}/{what}")]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    ingest("epyc-1t");
    let server = Server::start(folder.command(&["ui", "--store", "s", "--no-open"]));
    let own = server.own_headers();
    let own: Vec<(&str, &str)> = own
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let stream = server.send(&format!("GET {}/updates HTTP/1.1", server.place), &own, "");
    let mut lines = BufReader::new(stream).lines();
    let mut records = || {
        let line = lines
            .find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned))
            .unwrap();
        let news: Value = serde_json::from_str(&line).unwrap();
        let tables = news["tables"].as_array().unwrap();
        let records = tables
            .iter()
            .find(|table| table["name"] == "records")
            .unwrap();
        records["rows"].as_u64().unwrap()
    };
    let count = |sql: &str| {
        let ran = folder.tsql(&["--store", "s", "--format", "csv", sql]);
        ran.stdout.lines().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let counted = "SELECT count(*) FROM records";
    assert_eq!(records(), count(counted));
    ingest("epyc-2t");
    let expected = count(counted);
    while records() != expected {}
    // A session reads them immediately, too.
    let (started, _) = server.run_query(&json!({"sql": counted}));
    let rows = server.json(&format!("results/{}/rows", started["id"]));
    assert_eq!(rows["rows"], json!([[expected.to_string()]]));
}
