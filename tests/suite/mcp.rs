//! `tsql mcp`: requests as an assistant sends them, to the command itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, file_contents, log};

/// Query that runs for hours.
const ENDLESS: &str =
    "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.value + b.value < 0";

/// Time in which the server ends after its client.
const SOON: Duration = Duration::from_secs(20);

/// Time in which the server responds.
const RESPONSE_TIME: Duration = Duration::from_secs(60);

/// A client and its server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    /// Lines of standard output.
    output: Receiver<String>,
    next_id: u64,
}

impl Client {
    /// Starts the server without a handshake.
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(args);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, output) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self {
            input: child.stdin.take(),
            output,
            child,
            next_id: 0,
        }
    }

    /// Starts a server, and initializes the session.
    fn connect(place: &Place, args: &[&str]) -> Self {
        let mut client = Self::start(place, args);
        let hello = client.request("initialize", hello());
        assert_eq!(hello["result"]["serverInfo"]["name"], "tsql", "{hello}");
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn sample() -> Self {
        Self::connect(&Place::new(), &["mcp", "--sample"])
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next message of the server. Each line is one.
    fn receive(&mut self) -> Value {
        let line = self.output.recv_timeout(RESPONSE_TIME).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    /// Sends a request, and returns its number.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let response = self.receive();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params)["result"].take()
    }

    /// Returns the JSON of a tool's result.
    fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// Returns the message of a tool's error.
    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input. Returns the exit code and the error output.
    fn close(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let code = self.wait();
        for line in self.output.iter() {
            assert!(line.starts_with('{'), "{line}");
        }
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        (code, stderr)
    }

    fn wait(&mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < SOON {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server runs without a client");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

fn names(list: &Value) -> Vec<&str> {
    let names = list.as_array().unwrap().iter();
    names.map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn an_assistant_finds_tables_and_runs_queries() {
    let mut client = Client::sample();
    let tools = client.request("tools/list", json!({}))["result"]["tools"].take();
    let expected = [
        "list_tables",
        "describe_table",
        "list_queries",
        "query",
        "run_query",
        #[cfg(feature = "plot")]
        "plot",
        "compare",
    ];
    assert_eq!(names(&tools), expected);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    let tables = client.ok("list_tables", json!({}));
    assert_eq!(tables["tables"][0]["name"], "records", "{tables}");
    let rows = tables["tables"][0]["rows"].as_u64().unwrap();
    let all = client.ok("list_tables", json!({"include_empty": true}));
    let (all, full) = (names(&all["tables"]).len(), names(&tables["tables"]).len());
    assert_eq!(tables["empty_tables_left_out"], all - full);

    let records = client.ok("describe_table", json!({"name": "records"}));
    let columns = records["columns"].as_array().unwrap();
    let runtime = columns.iter().find(|column| column["name"] == "runtime_ns");
    assert_eq!(runtime.unwrap()["unit"], "ns");
    assert!(!runtime.unwrap()["doc"].as_str().unwrap().is_empty());
    let message = client.error("describe_table", json!({"name": "record"}));
    assert!(
        message.contains("`record`") && message.contains("records"),
        "{message}"
    );

    let sql = "SELECT count(*) AS n, min(runtime_ns) AS best FROM records";
    let result = client.ok("query", json!({"sql": sql}));
    assert_eq!(result["rows"][0]["n"], rows, "{result}");
    assert_eq!(result["columns"][1]["unit"], "ns", "{result}");
    assert_eq!(result["is_truncated"], false);
    let message = client.error("query", json!({"sql": "SELECT runtme_ns FROM records"}));
    assert!(
        message.contains("runtime_ns") && message.contains("line 1"),
        "{message}"
    );

    let queries = client.ok("list_queries", json!({}));
    assert!(names(&queries["queries"]).contains(&"platform-summary"));
    let summary = client.ok("run_query", json!({"name": "platform-summary"}));
    assert_eq!(
        summary["row_count"],
        summary["rows"].as_array().unwrap().len()
    );
    let message = client.error("run_query", json!({"name": "platform-sumary"}));
    assert!(message.contains("platform-summary"), "{message}");
    let message = client.error(
        "run_query",
        json!({"name": "platform-summary", "parameters": {"x": 1}}),
    );
    assert!(message.contains('x'), "{message}");
    assert_eq!(client.close(), (Some(0), String::new()));
}

#[cfg(feature = "plot")]
#[test]
fn a_plot_is_an_image_and_a_comparison_has_both_sides() {
    let mut client = Client::sample();
    let sql = "SELECT runtime_ns, platform FROM records";
    let spec = "kind=ecdf x=runtime_ns by=platform";
    let result = client.call("plot", json!({"sql": sql, "spec": spec}));
    let content = &result["content"];
    assert_eq!(content[0]["mimeType"], "image/png", "{result}");
    // The signature of PNG in base64.
    assert!(
        content[0]["data"]
            .as_str()
            .unwrap()
            .starts_with("iVBORw0KGgo")
    );
    assert!(
        content[1]["text"]
            .as_str()
            .unwrap()
            .starts_with("ecdf plot of ")
    );
    let empty = json!({"sql": "SELECT runtime_ns FROM records WHERE false"});
    let message = client.error("plot", empty);
    assert!(message.contains("no rows"), "{message}");
    let message = client.error("plot", json!({"sql": sql, "spec": "kind=pie"}));
    assert!(message.contains("pie"), "{message}");
    let message = client.error("plot", json!({}));
    assert!(message.contains("either `sql` or `name`"), "{message}");

    let compared = client.ok("compare", json!({"a": "epyc-1t", "b": "epyc-2t", "top": 1}));
    for (side, platform) in [("a", "epyc-1t"), ("b", "epyc-2t")] {
        let text = compared[side].to_string();
        assert!(text.contains(platform), "{side}: {text}");
    }
    let message = client.error("compare", json!({"a": "epyc-1t", "b": "epyc-9t"}));
    assert!(message.contains("epyc-9t"), "{message}");
}

#[test]
fn nothing_is_written_and_no_file_is_read() {
    let place = Place::new();
    place.write("logs/k80/a.json", log(1, 20));
    place.ok(&["ingest", "-q", "logs"]);
    let secret = place.write("secret.csv", "password\nhunter2\n");
    let secret = secret.to_str().unwrap();
    let before = file_contents(place.path());
    let mut client = Client::connect(&place, &["mcp"]);
    for sql in [
        format!("SELECT * FROM '{secret}'"),
        "SELECT * FROM 'secret.csv'".to_owned(),
        "SELECT * FROM '*.csv'".to_owned(),
        "SELECT * FROM 'file:///etc/passwd'".to_owned(),
        format!("SELECT * FROM read_csv('{secret}')"),
        format!("SELECT * FROM read_parquet('{secret}')"),
        format!("SELECT * FROM read_json('{secret}')"),
        format!("SELECT * FROM read_text('{secret}')"),
        format!("SELECT * FROM glob('{secret}')"),
        format!("SELECT (SELECT count(*) FROM '{secret}')"),
        format!("WITH t AS (SELECT * FROM \"{secret}\") SELECT * FROM t"),
        "SELECT * FROM 'http://127.0.0.1:1/x.csv'".to_owned(),
        "SELECT * FROM 's3://bucket/x.parquet'".to_owned(),
        format!("DESCRIBE '{secret}'"),
        format!("SUMMARIZE '{secret}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{secret}'"),
        "COPY records TO 'out.csv'".to_owned(),
        "EXPLAIN ANALYZE COPY records TO 'out.csv'".to_owned(),
        "CREATE TABLE t AS SELECT 1".to_owned(),
        "INSERT INTO records SELECT * FROM records".to_owned(),
        "DELETE FROM records".to_owned(),
        "DROP TABLE records".to_owned(),
        "SET datafusion.catalog.location = '/etc'".to_owned(),
        "SET tsql.verify = 'never'".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        String::new(),
    ] {
        let message = client.error("query", json!({"sql": sql}));
        assert!(message.starts_with("error: "), "{sql}: {message}");
        assert!(!message.contains("hunter2"), "{sql}: {message}");
        #[cfg(feature = "plot")]
        client.error("plot", json!({"sql": sql}));
    }
    for side in [
        format!("where:line IN (SELECT 1 FROM '{secret}')"),
        "where:true) UNION SELECT * FROM 'secret.csv' WHERE (true".to_owned(),
        "where:true); COPY records TO 'out.csv'; SELECT (1".to_owned(),
    ] {
        let message = client.error("compare", json!({"a": side, "b": "k80"}));
        assert!(!message.contains("hunter2"), "{side}: {message}");
        let sides = json!({"a": "k80", "b": "k80", "where": side.trim_start_matches("where:")});
        client.error("compare", sides);
    }
    assert_eq!(client.close().0, Some(0));
    assert!(before == file_contents(place.path()), "a file was changed");
}

#[test]
fn long_results_are_truncated_and_slow_queries_cancelled() {
    let mut client = Client::sample();
    let result = client.ok(
        "query",
        json!({"sql": "SELECT line FROM records", "max_rows": 3}),
    );
    assert_eq!(result["row_count"], 3);
    assert_eq!(result["is_truncated"], true);
    assert!(
        result["note"]
            .as_str()
            .unwrap()
            .contains("more than 3 rows")
    );
    // Far more rows than memory has space for: the query ends with its first rows.
    let huge = "SELECT value, repeat('x', 2000) AS x FROM range(1000000000)";
    let result = client.ok("query", json!({"sql": huge, "max_rows": 10000}));
    assert!(
        result["row_count"].as_u64().unwrap() < 1000,
        "{}",
        result["row_count"]
    );
    assert!(result["note"].as_str().unwrap().contains("bytes"));
    for (name, value) in [
        ("max_rows", json!(0)),
        ("max_rows", json!(1_000_000)),
        ("timeout_seconds", json!(0)),
    ] {
        let message = client.error("query", json!({"sql": "SELECT 1", name: value}));
        assert!(
            message.contains(name) && message.contains("expected"),
            "{message}"
        );
    }
    let began = Instant::now();
    let slow = json!({"sql": ENDLESS, "timeout_seconds": 0.5});
    let message = client.error("query", slow);
    assert!(
        message.contains("cancelled after 0.5 s") && message.contains("hint:"),
        "{message}"
    );
    assert!(began.elapsed() < SOON);
    // A request that the client cancels has no response.
    let arguments = json!({"name": "query", "arguments": {"sql": ENDLESS, "timeout_seconds": 600}});
    let id = client.begin("tools/call", arguments);
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    assert_eq!(
        client.ok("query", json!({"sql": "SELECT 1 AS a"}))["rows"][0]["a"],
        1
    );
}

#[test]
fn malformed_messages_and_arguments_are_errors() {
    let mut client = Client::sample();
    // Text that is no JSON has no response, as in the other libraries of the protocol.
    for line in ["{\"jsonrpc\": \"2.0\", ", "", "garbage", "\u{0}"] {
        client.send_line(line);
    }
    client.send_line(r#"{"jsonrpc": "2.0", "id": 7, "method": 5}"#);
    let response = client.receive();
    assert_eq!(response["error"]["code"], -32600, "{response}");
    let response = client.request("tools/none", json!({}));
    assert_eq!(response["error"]["code"], -32601, "{response}");
    for (tool, arguments, expected) in [
        ("query", json!({}), "sql"),
        ("query", json!({"sql": 7}), "invalid arguments of `query`"),
        (
            "query",
            json!({"sql": "SELECT 1", "maxrows": 7}),
            "unknown argument `maxrows`",
        ),
        ("list_queries", json!({"x": 1}), "has no arguments"),
        (
            "run_query",
            json!({"name": "platform-summary", "parameters": {"x": [1]}}),
            "expected text or a number",
        ),
    ] {
        let message = client.error(tool, arguments);
        assert!(message.contains(expected), "{tool}: {message}");
    }
    let message = client.error("drop_table", json!({}));
    assert!(
        message.contains("drop_table") && message.contains("describe_table"),
        "{message}"
    );
    assert_eq!(
        client.ok("query", json!({"sql": "SELECT 1 AS a"}))["rows"][0]["a"],
        1
    );
    assert_eq!(client.close(), (Some(0), String::new()));
}

#[test]
fn the_server_ends_with_its_client() {
    // During a query.
    let mut client = Client::sample();
    let arguments = json!({"name": "query", "arguments": {"sql": ENDLESS, "timeout_seconds": 600}});
    client.begin("tools/call", arguments);
    assert_eq!(
        client.ok("query", json!({"sql": "SELECT 1 AS a"}))["rows"][0]["a"],
        1
    );
    assert_eq!(client.close().0, Some(0));
    // Before the first message, and after one that is none.
    let place = Place::new();
    let client = Client::start(&place, &["mcp", "--sample"]);
    assert_eq!(client.close(), (Some(0), String::new()));
    let mut client = Client::start(&place, &["mcp", "--sample"]);
    client.request(
        "tools/call",
        json!({"name": "query", "arguments": {"sql": "SELECT 1"}}),
    );
    client.close();
}

#[test]
fn a_missing_store_is_an_error_before_the_protocol() {
    let place = Place::new();
    for args in [&["mcp"][..], &["mcp", "--store", "none"]] {
        let ran = place.tsql(args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}
