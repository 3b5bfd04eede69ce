//! A server of `tsql ui`, and HTTP requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Place;

/// A server, and the credentials of a client.
pub(super) struct Server {
    pub(super) child: Option<Child>,
    pub(super) port: u16,
    pub(super) token: String,
    /// `tsql=...`
    pub(super) cookie: String,
    /// `/...`
    pub(super) place: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A response over HTTP.
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) headers: String,
    pub(super) body: String,
}

impl Server {
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines
            .find(|line| line.as_ref().unwrap().contains("token="))
            .unwrap()
            .unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self::log_in(&line, Some(child))
    }

    /// Logs in with the address that the server printed.
    pub(super) fn log_in(address: &str, child: Option<Child>) -> Self {
        let (port, token) = address
            .split_once("http://127.0.0.1:")
            .unwrap()
            .1
            .split_once("/?token=")
            .unwrap();
        let token = token.split(' ').next().unwrap().to_owned();
        let mut server = Self {
            child,
            port: port.parse().unwrap(),
            token,
            cookie: String::new(),
            place: String::new(),
        };
        let login = server.request(
            &format!("GET /?token={} HTTP/1.1", server.token),
            &[("host", &server.host())],
            "",
        );
        assert_eq!(login.code, 200, "{}", login.body);
        let (cookie, rest) = login
            .headers
            .split_once("set-cookie: ")
            .unwrap()
            .1
            .split_once("; Path=")
            .unwrap();
        assert!(
            rest.lines()
                .next()
                .unwrap()
                .ends_with("/; HttpOnly; SameSite=Strict"),
            "{rest}"
        );
        server.cookie = cookie.to_owned();
        server.place = rest.split_once("/;").unwrap().0.to_owned();
        server
    }

    pub(super) fn sample() -> Self {
        Self::start(Place::new().command(&["ui", "--sample", "--no-open"]))
    }

    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        write!(
            stream,
            "{line}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    pub(super) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut bytes = Vec::new();
        self.send(line, headers, body)
            .read_to_end(&mut bytes)
            .unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (status, headers) = head.split_once("\r\n").unwrap();
        let headers = headers
            .to_lowercase()
            .replace("path=", "Path=")
            .replace("httponly; samesite=strict", "HttpOnly; SameSite=Strict");
        let body = match headers.contains("transfer-encoding: chunked") {
            true => join_chunks(body),
            false => body.to_owned(),
        };
        Response {
            code: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers,
            body,
        }
    }

    pub(super) fn own_headers(&self) -> Vec<(String, String)> {
        [
            ("host", self.host()),
            ("origin", format!("http://{}", self.host())),
            ("cookie", self.cookie.clone()),
            ("sec-fetch-site", "same-origin".to_owned()),
            ("content-type", "application/json".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    pub(super) fn get(&self, path: &str) -> Response {
        let own = self.own_headers();
        let own: Vec<(&str, &str)> = own
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.request(&format!("GET {}/{path} HTTP/1.1", self.place), &own, "")
    }

    pub(super) fn start_post(&self, path: &str, body: &Value) -> TcpStream {
        let own = self.own_headers();
        let own: Vec<(&str, &str)> = own
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.send(
            &format!("POST {}/{path} HTTP/1.1", self.place),
            &own,
            &body.to_string(),
        )
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Response {
        let own = self.own_headers();
        let own: Vec<(&str, &str)> = own
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.request(
            &format!("POST {}/{path} HTTP/1.1", self.place),
            &own,
            &body.to_string(),
        )
    }

    /// Runs a query. Returns the `started` object of the first line of the response, and the last line.
    pub(super) fn run_query(&self, request: &Value) -> (Value, Value) {
        let response = self.post("query", request);
        assert_eq!(response.code, 200, "{}", response.body);
        let lines: Vec<Value> = response
            .body
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        (
            lines.first().unwrap()["started"].clone(),
            lines.last().unwrap().clone(),
        )
    }

    pub(super) fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.code, 200, "{path}: {}", response.body);
        serde_json::from_str(&response.body).unwrap()
    }

    pub(super) fn running(&self) -> u64 {
        self.json("state")["running"].as_u64().unwrap()
    }

    /// Waits up to a minute until a condition is true.
    pub(super) fn wait(&self, description: &str, condition: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !condition(self) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{description}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Joins the chunks of a chunked body.
fn join_chunks(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        out.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    out
}
