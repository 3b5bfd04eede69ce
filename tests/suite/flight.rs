//! `tsql serve --flight`: requests of a Flight SQL client to the command itself.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetExportedKeys, CommandGetPrimaryKeys, CommandGetTables,
    CommandGetXdbcTypeInfo, SqlInfo,
};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tsql::arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch, StringArray};
use tsql::arrow::datatypes::{Int64Type, Schema};
use tsql::arrow::util::pretty::pretty_format_batches;

use crate::support::{Place, file_contents, log};

/// Query that runs for hours without a row.
const ENDLESS: &str =
    "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.value + b.value < 0";

/// Time in which a query ends after its client.
const SOON: Duration = Duration::from_secs(20);

type Client = FlightSqlServiceClient<Channel>;
type Result<T> = std::result::Result<T, FlightError>;

/// A running server.
struct Server {
    child: Child,
    /// `grpc://HOST:PORT`.
    url: String,
    runtime: Runtime,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.strip_prefix("Flight SQL listens on ");
        let url = url.and_then(|rest| rest.split_once(", "));
        let url = url.unwrap_or_else(|| panic!("{line}")).0.to_owned();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        Self {
            child,
            url,
            runtime,
        }
    }

    fn sample() -> Self {
        let args = ["serve", "--sample", "--flight", "127.0.0.1:0"];
        Self::start(&mut Place::new().command(&args))
    }

    fn for_store(place: &Place) -> Self {
        Self::start(&mut place.command(&["serve", "--flight", "127.0.0.1:0"]))
    }

    fn client(&self) -> Client {
        let url = self.url.replace("grpc://", "http://");
        self.connect(Endpoint::new(url).unwrap()).unwrap()
    }

    fn connect(&self, endpoint: Endpoint) -> std::result::Result<Client, tonic::transport::Error> {
        let channel = self.runtime.block_on(endpoint.connect())?;
        Ok(Client::new(channel))
    }

    /// Returns the rows that a description leads to.
    fn rows(&self, client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>> {
        self.runtime.block_on(rows(client, info))
    }

    fn query(&self, client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>> {
        let info = self
            .runtime
            .block_on(client.execute(sql.to_owned(), None))?;
        self.rows(client, info)
    }

    /// Waits until the server computes nothing.
    fn assert_idle(&self) {
        let began = Instant::now();
        loop {
            let before = self.processor_ticks();
            std::thread::sleep(Duration::from_millis(500));
            if self.processor_ticks() - before < 5 {
                return;
            }
            assert!(began.elapsed() < SOON, "a query without a client runs");
        }
    }

    /// Returns the processor time of the server in hundredths of a second.
    fn processor_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Returns the maximum memory of the server so far in MiB.
    fn peak_memory_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn rows(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>> {
    let expected = info.clone().try_decode_schema()?;
    let stream = client
        .do_get(info.endpoint[0].ticket.clone().unwrap())
        .await?;
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    for batch in &batches {
        assert_eq!(*batch.schema_ref().as_ref(), expected);
    }
    Ok(batches)
}

fn text(batches: &[RecordBatch]) -> String {
    pretty_format_batches(batches).unwrap().to_string()
}

fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn message<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(FlightError::Tonic(status)) => format!("{:?}: {}", status.code(), status.message()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn drivers_find_tables_and_run_queries() {
    let server = Server::sample();
    let mut client = server.client();
    let sql = "SELECT platform, min(runtime_ns) AS best, count(*) AS n FROM records GROUP BY 1 ORDER BY 1";
    let found = server.query(&mut client, sql).unwrap();
    let cells = text(&found);
    assert!(
        cells.contains("epyc-1t") && cells.contains("epyc-2t") && cells.contains("240"),
        "{cells}"
    );
    let schema = found[0].schema();
    assert_eq!(schema.field(1).metadata()["unit"], "ns");
    // Dictionaries and views are plain values, which all libraries read.
    assert_eq!(schema.field(0).data_type().to_string(), "Utf8");
    // A result without rows has columns.
    let empty = client.execute("SELECT 1 AS a WHERE false".to_owned(), None);
    let info = server.runtime.block_on(empty).unwrap();
    let schema = info.clone().try_decode_schema().unwrap();
    assert_eq!(schema.field(0).name(), "a");
    assert_eq!(count(&server.rows(&mut client, info).unwrap()), 0);

    let info = server.runtime.block_on(client.get_catalogs()).unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("tsql"));
    let schemas = CommandGetDbSchemas {
        catalog: None,
        db_schema_filter_pattern: Some("pub%".to_owned()),
    };
    let info = server
        .runtime
        .block_on(client.get_db_schemas(schemas))
        .unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("public"));
    let info = server.runtime.block_on(client.get_table_types()).unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("VIEW"));
    let all = CommandGetTables::default();
    let info = server.runtime.block_on(client.get_tables(all)).unwrap();
    let all = server.rows(&mut client, info).unwrap();
    assert!(
        count(&all) > 20 && text(&all).contains("records"),
        "{}",
        text(&all)
    );
    let records = CommandGetTables {
        table_name_filter_pattern: Some("records".to_owned()),
        include_schema: true,
        ..CommandGetTables::default()
    };
    let info = server.runtime.block_on(client.get_tables(records)).unwrap();
    let records = server.rows(&mut client, info).unwrap();
    assert_eq!(count(&records), 1);
    let bytes = records[0].column(4).as_binary::<i32>().value(0).to_vec();
    let schema = Schema::try_from(arrow_flight::IpcMessage(bytes.into())).unwrap();
    assert_eq!(
        schema.field_with_name("runtime_ns").unwrap().metadata()["unit"],
        "ns"
    );
    let keys = CommandGetPrimaryKeys {
        table: "graphs".to_owned(),
        ..CommandGetPrimaryKeys::default()
    };
    let info = server
        .runtime
        .block_on(client.get_primary_keys(keys))
        .unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("graph_id"));
    let keys = CommandGetExportedKeys {
        table: "graphs".to_owned(),
        ..CommandGetExportedKeys::default()
    };
    let info = server
        .runtime
        .block_on(client.get_exported_keys(keys))
        .unwrap();
    assert_eq!(count(&server.rows(&mut client, info).unwrap()), 0);
    let info = server
        .runtime
        .block_on(client.get_sql_info(vec![SqlInfo::FlightSqlServerReadOnly]))
        .unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("true"));
    let types = CommandGetXdbcTypeInfo { data_type: None };
    let info = server
        .runtime
        .block_on(client.get_xdbc_type_info(types))
        .unwrap();
    assert!(text(&server.rows(&mut client, info).unwrap()).contains("BIGINT"));
}

#[test]
fn prepared_statements_have_parameters() {
    let server = Server::sample();
    let mut client = server.client();
    let sql = "SELECT count(*) AS n FROM records WHERE platform = ? AND line <= ?";
    let mut statement = server
        .runtime
        .block_on(client.prepare(sql.to_owned(), None))
        .unwrap();
    let types: Vec<String> = statement
        .parameter_schema()
        .unwrap()
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect();
    assert_eq!(types, ["Utf8", "Int64"]);
    assert_eq!(statement.dataset_schema().unwrap().field(0).name(), "n");
    let mut literal = |lines: i64| {
        let sql = sql.replacen('?', "'epyc-1t'", 1);
        let sql = sql.replace('?', &lines.to_string());
        let rows = server.query(&mut client, &sql).unwrap();
        rows[0].column(0).as_primitive::<Int64Type>().value(0)
    };
    let (ten, three) = (literal(10), literal(3));
    assert!(ten > three && three > 0);
    for (lines, expected) in [
        (vec![10], Ok(ten)),
        (vec![3], Ok(three)),
        (vec![1, 2], Err("several rows")),
    ] {
        let platforms: ArrayRef = Arc::new(StringArray::from(vec!["epyc-1t"; lines.len()]));
        let lines: ArrayRef = Arc::new(Int64Array::from(lines));
        let values = RecordBatch::try_from_iter([("1", platforms), ("2", lines)]).unwrap();
        statement.set_parameters(values).unwrap();
        let info = server.runtime.block_on(statement.execute());
        let found = info.and_then(|info| server.rows(&mut client, info));
        match expected {
            Ok(number) => assert_eq!(
                found.unwrap()[0]
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .value(0),
                number
            ),
            Err(part) => assert!(message(found).contains(part)),
        }
    }
    // Without values.
    let mut unbound = server
        .runtime
        .block_on(client.prepare(sql.to_owned(), None))
        .unwrap();
    let info = server.runtime.block_on(unbound.execute()).unwrap();
    let error = message(server.rows(&mut client, info));
    assert!(
        error.contains("the query has 2 `?`, but 0 values were given"),
        "{error}"
    );
    let named = client.prepare("SELECT $name".to_owned(), None);
    let error = server.runtime.block_on(named).err().unwrap().to_string();
    assert!(error.contains("by position"), "{error}");
    // A closed statement.
    let info = server.runtime.block_on(statement.execute());
    server.runtime.block_on(statement.close()).unwrap();
    if let Ok(info) = info {
        let error = message(server.rows(&mut client, info));
        assert!(error.contains("statement is closed"), "{error}");
    }
}

#[test]
fn writes_and_files_are_rejected() {
    let place = Place::new();
    place.write("logs/k80/a.json", log(1, 20));
    place.ok(&["ingest", "-q", "logs"]);
    let secret = place.write("secret.csv", "password\nhunter2\n");
    let secret = secret.to_str().unwrap();
    let before = file_contents(place.path());
    let server = Server::for_store(&place);
    let mut client = server.client();
    for sql in [
        format!("SELECT * FROM '{secret}'"),
        format!("SELECT * FROM read_csv('{secret}')"),
        "SELECT * FROM 'http://127.0.0.1:1/x.csv'".to_owned(),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{secret}'"),
        "COPY records TO 'out.csv'".to_owned(),
        "INSERT INTO records SELECT * FROM records".to_owned(),
        "DELETE FROM records".to_owned(),
        "SET tsql.verify = 'never'".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        String::new(),
    ] {
        let error = message(server.query(&mut client, &sql));
        assert!(
            error.starts_with("InvalidArgument: ") && !error.contains("hunter2"),
            "{sql}: {error}"
        );
        let prepared = server.runtime.block_on(client.prepare(sql.clone(), None));
        assert!(prepared.is_err(), "{sql}");
        let update = server
            .runtime
            .block_on(client.execute_update(sql.clone(), None));
        let error = update.unwrap_err().to_string();
        assert!(error.contains("read-only"), "{sql}: {error}");
    }
    let error = message(server.query(&mut client, "SELECT runtme_ns FROM records"));
    assert!(
        error.contains("runtime_ns") && error.contains("line 1"),
        "{error}"
    );
    let long = format!("SELECT '{}'", "x".repeat(5 << 20));
    assert!(server.query(&mut client, &long).is_err());
    assert_eq!(
        count(
            &server
                .query(&mut client, "SELECT line FROM records")
                .unwrap()
        ),
        20
    );
    drop(server);
    assert!(before == file_contents(place.path()), "a file was changed");
}

#[test]
fn rows_are_streamed_and_a_query_ends_with_its_client() {
    let server = Server::sample();
    let mut client = server.client();
    // 24 GB: far more than the server may hold.
    let huge = "SELECT value AS a, value + 1 AS b, value + 2 AS c FROM range(1000000000)";
    let mut received = 0;
    server.runtime.block_on(async {
        let info = client.execute(huge.to_owned(), None).await.unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let mut stream = client.do_get(ticket).await.unwrap();
        while received < 5_000_000 {
            received += stream.next().await.unwrap().unwrap().num_rows();
        }
        // Dropping the stream cancels the request.
    });
    server.assert_idle();
    assert!(
        server.peak_memory_mib() < 1024,
        "{} MiB",
        server.peak_memory_mib()
    );
    server.runtime.block_on(async {
        let info = client.execute(ENDLESS.to_owned(), None).await.unwrap();
        let request = rows(&mut client, info);
        let ended = tokio::time::timeout(Duration::from_secs(2), request).await;
        assert!(ended.is_err(), "the query is endless");
    });
    server.assert_idle();
    // The connection, and other clients, continue.
    assert_eq!(count(&server.query(&mut client, "SELECT 1").unwrap()), 1);
    // A client that vanishes with its connection.
    let abandoned = Builder::new_current_thread().enable_all().build().unwrap();
    let url = server.url.replace("grpc://", "http://");
    abandoned.block_on(async {
        let channel = Endpoint::new(url).unwrap().connect().await.unwrap();
        let mut client = Client::new(channel);
        let info = client.execute(ENDLESS.to_owned(), None).await.unwrap();
        let request = rows(&mut client, info);
        let _ = tokio::time::timeout(Duration::from_secs(1), request).await;
    });
    drop(abandoned);
    server.assert_idle();
}

#[test]
fn the_memory_limit_is_an_error_of_the_query() {
    let args = [
        "serve",
        "--sample",
        "--flight",
        "127.0.0.1:0",
        "--memory-limit",
        "16MiB",
    ];
    let server = Server::start(&mut Place::new().command(&args));
    let mut client = server.client();
    let sql = "SELECT array_agg(value || repeat('x', 100)) FROM range(10000000)";
    let error = message(server.query(&mut client, sql));
    assert!(
        error.starts_with("ResourceExhausted: not enough memory"),
        "{error}"
    );
    assert_eq!(count(&server.query(&mut client, "SELECT 1").unwrap()), 1);
}

#[test]
fn clients_need_the_token() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--sample", "--flight", "127.0.0.1:0"]);
    let server = Server::start(command.env("TSQL_TOKEN", "secret"));
    for (token, is_admitted) in [
        (None, false),
        (Some("secre"), false),
        (Some("secret2"), false),
        (Some("secret"), true),
    ] {
        let mut client = server.client();
        if let Some(token) = token {
            client.set_token(token.to_owned());
        }
        let found = server.query(&mut client, "SELECT 1");
        assert_eq!(found.is_ok(), is_admitted, "{token:?}");
        if !is_admitted {
            let error = message(found);
            assert!(
                error.contains("Unauthenticated: the token is missing or wrong"),
                "{error}"
            );
        }
    }
}

#[test]
fn other_machines_need_tls_and_a_token() {
    let place = Place::new();
    let args = ["serve", "--sample", "--flight", "0.0.0.0:0"];
    let refused = |command: &mut Command| {
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        String::from_utf8(done.stderr).unwrap()
    };
    let stderr = refused(&mut place.command(&args));
    assert!(
        stderr.contains("not encrypted") && stderr.contains("--tls-cert"),
        "{stderr}"
    );
    let stderr = refused(place.command(&args).env("TSQL_TOKEN", "secret"));
    assert!(stderr.contains("not encrypted"), "{stderr}");
    let Some(()) = crate::workers::certificates(place.path()) else {
        eprintln!("skipped: no openssl");
        return;
    };
    let with_tls = || {
        let mut command = place.command(&args);
        command
            .env("TSQL_TLS_CERT", "own.pem")
            .env("TSQL_TLS_KEY", "own.key");
        command
    };
    let stderr = refused(&mut with_tls());
    assert!(
        stderr.contains("could read the store") && stderr.contains("TSQL_TOKEN"),
        "{stderr}"
    );
    place.write("empty.pem", "");
    let stderr = refused(
        with_tls()
            .env("TSQL_TLS_CERT", "empty.pem")
            .env("TSQL_TOKEN", "secret"),
    );
    assert!(stderr.contains("certificate"), "{stderr}");
    let server = Server::start(with_tls().env("TSQL_TOKEN", "secret"));
    assert!(
        server.url.starts_with("grpc+tls://0.0.0.0:"),
        "{}",
        server.url
    );
    let url = server
        .url
        .replace("grpc+tls://0.0.0.0", "https://127.0.0.1");
    let connect = |authority: &str| {
        let authority = Certificate::from_pem(place.read(authority));
        let tls = ClientTlsConfig::new()
            .ca_certificate(authority)
            .domain_name("workers.test");
        server.connect(Endpoint::new(url.clone()).unwrap().tls_config(tls).unwrap())
    };
    let mut client = connect("ca.pem").unwrap();
    assert!(message(server.query(&mut client, "SELECT 1")).contains("Unauthenticated"));
    client.set_token("secret".to_owned());
    assert_eq!(count(&server.query(&mut client, "SELECT 1").unwrap()), 1);
    assert!(connect("other.pem").is_err());
    // Without TLS.
    let plain = Endpoint::new(url.replace("https", "http")).unwrap();
    if let Ok(mut client) = server.connect(plain) {
        client.set_token("secret".to_owned());
        assert!(server.query(&mut client, "SELECT 1").is_err());
    }
}

#[test]
fn old_and_missing_stores_and_used_ports() {
    let old = crate::store_upgrades::unpacked();
    let before = file_contents(old.path());
    let server = Server::for_store(&old);
    let mut client = server.client();
    let found = server.query(
        &mut client,
        "SELECT platform, count(*) AS n FROM records GROUP BY 1 ORDER BY 1",
    );
    assert!(text(&found.unwrap()).contains("a_b"));
    let address = server.url.replace("grpc://", "");
    let ran = old.tsql(&["serve", "--flight", &address]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("cannot listen on"),
        "{}",
        ran.stderr
    );
    drop(server);
    assert!(before == file_contents(old.path()), "a file was changed");
    let ran = Place::new().tsql(&["serve", "--flight", "127.0.0.1:0"]);
    assert!(
        ran.code == Some(2) && ran.stderr.starts_with("error: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_signal_ends_the_server_and_its_queries() {
    let mut server = Server::sample();
    let mut client = server.client();
    let id = server.child.id().to_string();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        assert!(
            Command::new("kill")
                // SIGINT is ignored in background jobs of shells.
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
    });
    let error = message(server.query(&mut client, ENDLESS));
    assert!(error.contains("the server has ended"), "{error}");
    stop.join().unwrap();
    let began = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < SOON, "the server runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}
