//! Access control of requests.
//!
//! A web page can send requests to any port of this machine with the browser's cookies, and can resolve its own host
//! name to 127.0.0.1 (DNS rebinding). Therefore a request must
//!
//! - name this server by its own address (`Host`),
//! - come from this server's own page, or from the address bar (`Origin`, `Sec-Fetch-Site`),
//! - and contain a secret of this process: the token, or the cookie that replaces it.
//!
//! A browser sends cookies of 127.0.0.1 to all of its ports. The path of the cookie is random, so that it is only sent
//! to clients that know the path.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;
use tsql_error::{Error, Result};
use url::form_urlencoded;

/// Name of the cookie.
const COOKIE_NAME: &str = "tsql";

/// Reason for rejecting a request without the token or the cookie.
const INVALID_SECRET: &str =
    "missing or invalid token\nhint: open the complete address that `tsql ui` printed";

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Content security policy of the page: no external content, no inline scripts, no framing.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Content security policy of the HTML report, which contains inline scripts. It has an opaque origin, so that its
/// requests to this server are rejected.
const REPORT_CONTENT_POLICY: &str = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// Returns 128 random bits of the system, as 32 hexadecimal digits.
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

/// Access control of requests.
pub(super) struct AccessControl {
    hosts: [String; 2],
    token: String,
    cookie: String,
    place: String,
}

impl fmt::Debug for AccessControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("AccessControl");
        shown.field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl AccessControl {
    /// Creates the access control of a server on this port.
    pub(super) fn new(port: u16) -> Result<Self> {
        Ok(Self {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token: secret()?,
            cookie: secret()?,
            place: secret()?,
        })
    }

    /// Address with the token, which is a secret.
    pub(super) fn url(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}/?token={}", self.token)
    }

    /// Base path of all routes except for the entry.
    pub(super) fn base_path(&self) -> &str {
        &self.place
    }

    /// Response to the token: the cookie, and a redirect to the page.
    pub(super) fn login_response(&self) -> Response {
        let (cookie, place) = (&self.cookie, &self.place);
        let cookie = format!("{COOKIE_NAME}={cookie}; Path=/{place}/; HttpOnly; SameSite=Strict");
        // The page redirects itself: after a navigation from another site, a browser sends a strict cookie only for
        // requests of this page.
        let page = format!(
            "<!DOCTYPE html><html lang=\"en\"><title>tsql</title><link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0;url=/{place}/\"></html>"
        );
        let headers = [
            (header::SET_COOKIE, cookie),
            (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        ];
        (headers, page).into_response()
    }

    /// Reason for rejecting a request, if any.
    fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let host = single_header(headers, &HOST).unwrap_or_default();
        let named = uri.authority().map_or(host, |authority| authority.as_str());
        let is_own = |name: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name));
        if !is_own(host) || !is_own(named) {
            return Some("host name of the request is not this server");
        }
        let origin = format!("http://{host}");
        let mut origins = headers.get_all(ORIGIN).iter();
        if !origins.all(|shown| shown.as_bytes().eq_ignore_ascii_case(origin.as_bytes())) {
            return Some("request comes from another origin");
        }
        let is_door = uri.path() == "/";
        let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        let is =
            |name: &HeaderName, value: &str| headers.get(name).is_some_and(|shown| shown == value);
        // A request with the token may come from another site, for instance through a link, but only as a top-level
        // navigation.
        let comes_in = is_door && is(&FETCH_MODE, "navigate") && is(&FETCH_DEST, "document");
        if !comes_in && !matches!(site, None | Some(b"same-origin" | b"none")) {
            return Some("request comes from another site");
        }
        match *method {
            Method::GET | Method::HEAD => {}
            Method::POST if is(&CONTENT_TYPE, "application/json") => {}
            _ => return Some("unexpected request, expected GET, or POST with `application/json`"),
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
        (!is_known).then_some(INVALID_SECRET)
    }
}

/// The only value of a header; `None` if it is repeated.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(only)
}

/// Token in the query string.
fn token(uri: &Uri) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    let found = pairs.find(|(name, _)| name == "token");
    found.map(|(_, value)| value.into_owned())
}

/// Cookie of a request.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get_all(COOKIE).iter();
    let shown = shown.filter_map(|shown| shown.to_str().ok());
    let mut pairs = shown.flat_map(|shown| shown.split(';'));
    let found = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
    found.map(str::to_owned)
}

/// Middleware that rejects unauthorized requests and adds security headers to all responses.
pub(super) async fn check_request(
    State(gate): State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Response {
    let refused = gate.refusal(request.method(), request.uri(), request.headers());
    let is_store = request.uri().path().ends_with("/store.html");
    let mut response = match refused {
        Some(reason) => (StatusCode::FORBIDDEN, format!("{reason}\n")).into_response(),
        None => next.run(request).await,
    };
    let policy = if is_store {
        REPORT_CONTENT_POLICY
    } else {
        CONTENT_POLICY
    };
    let policies = [
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
    for (name, value) in policies {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(gate: &AccessControl, uri: &str, shown: &[(&str, &str)]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in shown {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        gate.refusal(&Method::GET, &uri.parse().unwrap(), &headers)
    }

    #[test]
    fn only_requests_with_the_secret_are_served() {
        let gate = AccessControl::new(7).unwrap();
        let door = format!("/?token={}", gate.token);
        let host = ("host", "127.0.0.1:7");
        let cookie = format!("other=1; {COOKIE_NAME}={}", gate.cookie);
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
