//! Who is answered.
//!
//! A page of the web can send requests to any port of this machine, with the browser's cookies, and can make a name of its own
//! mean 127.0.0.1 (DNS rebinding). So a request
//!
//! - names this server by its own address (`Host`),
//! - comes from this server's own page, or was typed (`Origin`, `Sec-Fetch-Site`),
//! - and brings a secret of this process: the token, or the cookie that the token was changed for.
//!
//! A browser gives the cookies of 127.0.0.1 to all of its ports. The cookie's path is random, and so it is given to nobody who
//! does not know that path.

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use url::form_urlencoded;

use crate::error::{Error, Result};

/// Name of the cookie.
const NAME: &str = "tsql";

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What pages may do: nothing from elsewhere, no script in the text, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the store's own page may do, whose script stands in it: it is nobody, and so it reaches nothing here.
const POLICY_OF_STORE: &str = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// 128 bits of the system's, as 32 hexadecimal digits.
fn secret() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::getrandom(&mut bytes).map_err(|error| Error::Io {
        path: "random numbers".into(),
        source: error.into(),
    })?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Who is answered.
pub(super) struct Gate {
    hosts: [String; 2],
    token: String,
    cookie: String,
    place: String,
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Gate");
        shown.field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Gate {
    /// The gate of a server on this port.
    pub(super) fn new(port: u16) -> Result<Self> {
        Ok(Self {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token: secret()?,
            cookie: secret()?,
            place: secret()?,
        })
    }

    /// The address to begin with: a secret.
    pub(super) fn url(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}/?token={}", self.token)
    }

    /// Where all but the door is.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// What a browser is given for the token: the cookie, and the way in.
    pub(super) fn let_in(&self) -> Response {
        let (cookie, place) = (&self.cookie, &self.place);
        let cookie = format!("{NAME}={cookie}; Path=/{place}/; HttpOnly; SameSite=Strict");
        // The page goes on by itself: a browser that came from elsewhere shows a strict cookie only to what this page asks for.
        let page = format!(
            "<!DOCTYPE html><html lang=\"en\"><title>tsql</title><link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0;url=/{place}/\"></html>"
        );
        let headers = [
            (header::SET_COOKIE, cookie),
            (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        ];
        (headers, page).into_response()
    }

    /// Why a request is refused.
    fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let host = only(headers, &HOST).unwrap_or_default();
        let named = uri.authority().map_or(host, |authority| authority.as_str());
        let is_own = |name: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name));
        if !is_own(host) || !is_own(named) {
            return Some("another host name was asked for");
        }
        let origin = format!("http://{host}");
        let mut origins = headers.get_all(ORIGIN).iter();
        if !origins.all(|shown| shown.as_bytes().eq_ignore_ascii_case(origin.as_bytes())) {
            return Some("the request comes from another page");
        }
        let is_door = uri.path() == "/";
        let site = headers.get(SITE).map(HeaderValue::as_bytes);
        let is =
            |name: &HeaderName, value: &str| headers.get(name).is_some_and(|shown| shown == value);
        // Whoever shows the token may come from elsewhere, as a link does, but only as a page of its own.
        let comes_in = is_door && is(&MODE, "navigate") && is(&DEST, "document");
        if !comes_in && !matches!(site, None | Some(b"same-origin" | b"none")) {
            return Some("the request comes from another site");
        }
        match *method {
            Method::GET | Method::HEAD => {}
            Method::POST if is(&CONTENT_TYPE, "application/json") => {}
            _ => return Some("only JSON is posted"),
        }
        let shown = match is_door {
            true => token(uri),
            false => cookie(headers),
        };
        let wanted = match is_door {
            true => &self.token,
            false => &self.cookie,
        };
        let shown = shown.unwrap_or_default();
        let is_known: bool = wanted.as_bytes().ct_eq(shown.as_bytes()).into();
        (!is_known).then_some("the address that `tsql ui` has printed lets in: copy all of it")
    }
}

/// The only value of a header.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(only)
}

/// The token of an address.
fn token(uri: &Uri) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    let found = pairs.find(|(name, _)| name == "token");
    found.map(|(_, value)| value.into_owned())
}

/// The cookie of a request.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get_all(COOKIE).iter();
    let shown = shown.filter_map(|shown| shown.to_str().ok());
    let mut pairs = shown.flat_map(|shown| shown.split(';'));
    let found = pairs.find_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='));
    found.map(str::to_owned)
}

/// Answers only who may ask, and says in each answer what a browser may do with it.
pub(super) async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let refused = gate.refusal(request.method(), request.uri(), request.headers());
    let is_store = request.uri().path().ends_with("/store.html");
    let mut response = match refused {
        Some(reason) => (StatusCode::FORBIDDEN, format!("{reason}\n")).into_response(),
        None => next.run(request).await,
    };
    let policy = if is_store { POLICY_OF_STORE } else { POLICY };
    let said = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    let headers = response.headers_mut();
    for (name, value) in said {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(gate: &Gate, uri: &str, shown: &[(&str, &str)]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in shown {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        gate.refusal(&Method::GET, &uri.parse().unwrap(), &headers)
    }

    #[test]
    fn only_the_own_page_with_the_secret_is_answered() {
        let gate = Gate::new(7).unwrap();
        let door = format!("/?token={}", gate.token);
        let host = ("host", "127.0.0.1:7");
        let cookie = format!("other=1; {NAME}={}", gate.cookie);
        let cookie = ("cookie", cookie.as_str());
        assert_eq!(gate.token.len(), 32);
        assert_eq!(refusal(&gate, &door, &[host]), None);
        assert_eq!(refusal(&gate, &door, &[("host", "localhost:7")]), None);
        assert_eq!(refusal(&gate, "/p/", &[host, cookie]), None);
        let own = [
            host,
            cookie,
            ("origin", "http://127.0.0.1:7"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(refusal(&gate, "/p/", &own), None);
        let linked = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert_eq!(refusal(&gate, &door, &linked), None);
        for (uri, shown) in [
            (door.as_str(), vec![]),
            (&door, vec![("host", "evil.example:7")]),
            (&door, vec![("host", "127.0.0.1:8")]),
            (&door, vec![("host", "127.0.0.1")]),
            (&door, vec![host, ("host", "127.0.0.1:7")]),
            ("http://evil.example:7/p/", vec![host, cookie]),
            (
                &door,
                vec![
                    host,
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "no-cors"),
                ],
            ),
            ("/", vec![host, cookie]),
            ("/?token=", vec![host]),
            ("/?token=00000000000000000000000000000000", vec![host]),
            ("/p/", vec![host]),
            ("/p/", vec![host, ("cookie", "tsql=")]),
            ("/p/", vec![host, cookie, ("origin", "http://evil.example")]),
            ("/p/", vec![host, cookie, ("origin", "null")]),
            ("/p/", vec![host, cookie, ("origin", "http://localhost:7")]),
            ("/p/", vec![host, cookie, ("sec-fetch-site", "cross-site")]),
            ("/p/", vec![host, cookie, ("sec-fetch-site", "same-site")]),
            ("/p/", [&linked[..], &[cookie]].concat()),
        ] {
            assert!(refusal(&gate, uri, &shown).is_some(), "{uri} {shown:?}");
        }
        assert!(!format!("{gate:?}").contains(&gate.token));
    }
}
