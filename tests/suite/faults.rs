//! A proxy between a client and an S3 server that injects network and server faults.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server executes the request, and the response is dropped.
    ResponseLost,
    /// The server executes the request, and the response reports a failure.
    UnavailableAfter,
    /// The request is not executed. The response reports a concurrent request for the same object.
    ConflictInstead,
    /// The request is not executed. The response reports a busy server.
    SlowDownInstead,
    /// Half of the response body, then nothing.
    BodyCut,
    /// The response arrives in small pieces.
    BodySlow,
    /// The connection is reset before the request is executed.
    Reset,
}

pub(crate) const FAULTS: [Fault; 7] = [
    Fault::ResponseLost,
    Fault::UnavailableAfter,
    Fault::ConflictInstead,
    Fault::SlowDownInstead,
    Fault::BodyCut,
    Fault::BodySlow,
    Fault::Reset,
];

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

struct State {
    server: u16,
    /// One of this many requests gets a fault, or none for 0.
    one_in: AtomicU64,
    random: Mutex<u64>,
    requests: AtomicU64,
    done: [AtomicU64; FAULTS.len()],
    over: AtomicBool,
}

impl Proxy {
    /// Starts a proxy of the server at this port.
    pub(crate) fn start(server: u16, one_in: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server,
            one_in: AtomicU64::new(one_in),
            random: Mutex::new(20_261_121),
            requests: AtomicU64::new(0),
            done: Default::default(),
            over: AtomicBool::new(false),
        });
        let of_listener = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if of_listener.over.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(client), state) = (client, Arc::clone(&of_listener)) else {
                    continue;
                };
                std::thread::spawn(move || state.serve(client));
            }
        });
        Self { port, state }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of requests, and of each fault.
    pub(crate) fn counts(&self) -> (u64, Vec<(Fault, u64)>) {
        let count = |(fault, count): (&Fault, &AtomicU64)| (*fault, count.load(Ordering::Relaxed));
        let faults = FAULTS.iter().zip(&self.state.done).map(count);
        (
            self.state.requests.load(Ordering::Relaxed),
            faults.collect(),
        )
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    /// Returns the fault of a request. Only requests that create an object get conflicts.
    fn draw(&self, creates: bool) -> Option<Fault> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let one_in = self.one_in.load(Ordering::Relaxed);
        let mut random = self.random.lock().unwrap();
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = *random >> 33;
        if one_in == 0 || !number.is_multiple_of(one_in) {
            return None;
        }
        let choice = usize::try_from(number / one_in).unwrap() % FAULTS.len();
        if FAULTS[choice] == Fault::ConflictInstead && !creates {
            return None;
        }
        self.done[choice].fetch_add(1, Ordering::Relaxed);
        Some(FAULTS[choice])
    }

    /// Serves the requests of one connection.
    fn serve(&self, mut client: TcpStream) {
        let _ = client.set_nodelay(true);
        while let Ok(Some(request)) = read_request(&mut client) {
            let head =
                String::from_utf8_lossy(&request[..body_begin(&request)]).to_ascii_lowercase();
            let fault = self.draw(head.starts_with("put ") && head.contains("if-none-match:"));
            if fault == Some(Fault::Reset) {
                return;
            }
            let instead = match fault {
                Some(Fault::ConflictInstead) => {
                    Some(("409 Conflict", "ConditionalRequestConflict"))
                }
                Some(Fault::SlowDownInstead) => Some(("503 Service Unavailable", "SlowDown")),
                _ => None,
            };
            if let Some((status, code)) = instead {
                if client.write_all(&refusal(status, code)).is_err() {
                    return;
                }
                continue;
            }
            let Ok(response) = self.forward(&request) else {
                return;
            };
            let sent = match fault {
                Some(Fault::ResponseLost) => return,
                Some(Fault::UnavailableAfter) => {
                    client.write_all(&refusal("503 Service Unavailable", "ServiceUnavailable"))
                }
                Some(Fault::BodyCut) => {
                    let body = body_begin(&response);
                    let half = body + (response.len() - body) / 2;
                    let _ = client.write_all(&response[..half]);
                    return;
                }
                Some(Fault::BodySlow) => {
                    response
                        .chunks(response.len() / 8 + 1)
                        .try_for_each(|drop| {
                            std::thread::sleep(Duration::from_millis(20));
                            client.write_all(drop)
                        })
                }
                _ => client.write_all(&response),
            };
            if sent.is_err() {
                return;
            }
            // The request and its response ask for the end of the connection.
            let _ = client.shutdown(Shutdown::Write);
            return;
        }
    }

    /// Returns the whole response of the server.
    fn forward(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut server = TcpStream::connect(("127.0.0.1", self.server))?;
        server.set_read_timeout(Some(Duration::from_secs(60)))?;
        let line_end = request
            .windows(2)
            .position(|two| two == b"\r\n")
            .unwrap_or(0)
            + 2;
        server.write_all(&request[..line_end])?;
        server.write_all(b"Connection: close\r\n")?;
        server.write_all(&request[line_end..])?;
        let mut response = Vec::new();
        server.read_to_end(&mut response)?;
        Ok(response)
    }
}

fn refusal(status: &str, code: &str) -> Vec<u8> {
    let body =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>test</Message></Error>");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn body_begin(response: &[u8]) -> usize {
    let head = response.windows(4).position(|four| four == b"\r\n\r\n");
    head.map_or(response.len(), |head| head + 4)
}

/// Reads a request with its body, or returns `None` at the end of the connection.
fn read_request(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut request = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let begin = body_begin(&request);
        if begin < request.len() || request.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..begin]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| {
                line.strip_prefix("content-length:")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            });
            if request.len() >= begin + length.unwrap_or(0) {
                return Ok(Some(request));
            }
        }
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Ok(None);
        }
        request.extend_from_slice(&buffer[..read]);
    }
}
