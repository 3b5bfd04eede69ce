//! A store on a web server is readable and read-only.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use crate::support::{Place, log};

/// Serves the files below `root`, with ranges and without listings; returns its port.
pub(crate) fn serve(root: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let root = root.clone();
            std::thread::spawn(move || respond(client, &root));
        }
    });
    port
}

fn respond(mut client: TcpStream, root: &Path) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let path = path.replace("%3D", "=").replace("%20", " ");
    let file = root.join(path.trim_start_matches('/'));
    let (status, extra, body) = match std::fs::read(&file) {
        _ if !["GET", "HEAD"].contains(&method) => {
            ("405 Method Not Allowed", String::new(), Vec::new())
        }
        Err(_) => ("404 Not Found", String::new(), b"no".to_vec()),
        Ok(body) => {
            let range = request.lines().find_map(|line| {
                let line = line.to_ascii_lowercase();
                let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
                Some((
                    first.parse::<usize>().unwrap(),
                    last.trim().parse::<usize>().unwrap(),
                ))
            });
            match range {
                Some((first, last)) => {
                    let last = last.min(body.len() - 1);
                    let extra = format!("Content-Range: bytes {first}-{last}/{}\r\n", body.len());
                    ("206 Partial Content", extra, body[first..=last].to_vec())
                }
                None => ("200 OK", String::new(), body),
            }
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\n{extra}Last-Modified: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = client.write_all(head.as_bytes());
    if method != "HEAD" {
        let _ = client.write_all(&body);
    }
}

#[test]
#[ignore = "full tier"]
fn a_store_on_a_web_server_is_read() {
    let place = Place::new();
    for number in 0..13 {
        place.write(&format!("p/{number}.json"), log(1 + number * 40, 60));
        place.ok(&[
            "ingest",
            "-q",
            "--platform",
            "p",
            &format!("p/{number}.json"),
        ]);
    }
    assert!(
        place
            .path()
            .join(".tsql/records/_delta_log/_last_checkpoint")
            .exists()
    );
    let port = serve(place.path().to_owned());
    let url = format!("http://127.0.0.1:{port}/.tsql");
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        let output = command
            .env("TSQL_STORE", &url)
            .env("TSQL_CACHE", place.path().join("cache"))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let sql = "SELECT count(*), sum(line), min(runtime_ns), count(DISTINCT config_id) FROM records";
    let (code, stdout, stderr) = run(&[sql]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stdout, place.ok(&[sql]).stdout);
    let (code, _, stderr) = run(&["export", "--to", "back"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(place.read("back/12.json"), place.read("p/12.json"));
    place.write("q/new.json", log(9000, 10));
    let (code, _, stderr) = run(&["ingest", "q"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("is read-only"), "{stderr}");
    let (code, _, stderr) = run(&[
        "--store",
        &format!("http://127.0.0.1:{port}/nothing"),
        "SELECT 1",
    ]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("is not a tsql store"), "{stderr}");
}
