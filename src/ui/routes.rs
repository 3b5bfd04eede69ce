//! What can be asked over HTTP.
//!
//! | path | answer |
//! |---|---|
//! | `GET /?token=T` | the cookie, and the way in |
//! | `GET /P/`, `style.css`, `script.js` | the page |
//! | `GET /P/catalog` | tables, questions, platforms |
//! | `GET /P/news` | rows by table whenever they change, as events |
//! | `POST /P/suggest` | words to type |
//! | `POST /P/ask` | lines of JSON: see `asking` |
//! | `GET /P/answers/7/rows?from=0&count=100&by=2&down=1` | some rows, in an order |
//! | `GET /P/answers/7/value?row=3&column=1` | one value, whole |
//! | `GET /P/answers/7/file/rows.csv?by=2` | all rows as a file, or `rows.parquet` |
//! | `POST /P/answers/7/picture` | a picture: SVG for the page, or a file |
//! | `POST /P/answers/7/forget` | nothing: its tab is closed |
//! | `GET /P/store.html` | the store's page |
//! | `GET /P/state` | what runs |

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures::{Stream, StreamExt as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::answers::Order;
use super::files::{self, FileKind};
use super::gate::{Gate, guard};
use super::kept::Kept;
use super::pictures::{Drawn, drawn};
use super::served::Served;
use super::told::Told;
use super::{asking, catalog, news, sorting, windows};
use crate::error::{Error, Result};
use crate::plot::{Look, Size, Theme};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");

/// Files of one scope, in the order in which they use each other.
const SCRIPT: &str = concat!(
    "(() => {\n",
    include_str!("page/base.js"),
    include_str!("page/typing.js"),
    include_str!("page/answer.js"),
    include_str!("page/asking.js"),
    include_str!("page/drawing.js"),
    include_str!("page/known.js"),
    include_str!("page/news.js"),
    include_str!("page/begin.js"),
    "})();\n"
);

type Shared = State<Arc<Served>>;

/// All paths, behind the gate.
pub(super) fn router(served: Arc<Served>, gate: Arc<Gate>) -> Router {
    let at = |path: &str| format!("/{}/{path}", gate.place());
    let door = Arc::clone(&gate);
    Router::new()
        .route("/", get(move || async move { door.let_in() }))
        .route(&at(""), get(async || text("text/html", PAGE.to_owned())))
        .route(&at("style.css"), get(async || text("text/css", style())))
        .route(
            &at("script.js"),
            get(async || text("text/javascript", script())),
        )
        .route(&at("catalog"), get(told_catalog))
        .route(&at("news"), get(told_news))
        .route(&at("state"), get(told_state))
        .route(&at("store.html"), get(store_page))
        .route(&at("suggest"), post(suggest))
        .route(&at("ask"), post(ask))
        .route(&at("answers/{id}/rows"), get(rows))
        .route(&at("answers/{id}/value"), get(value))
        .route(&at("answers/{id}/picture"), post(picture))
        .route(&at("answers/{id}/file/{name}"), get(file))
        .route(&at("answers/{id}/forget"), post(forget))
        .fallback(async |_: Request| (StatusCode::NOT_FOUND, "there is no such page\n"))
        .layer(from_fn_with_state(gate, guard))
        .with_state(served)
}

fn style() -> String {
    format!("{}{STYLE}", tsql_plot::colours())
}

fn script() -> String {
    format!("{}{SCRIPT}", tsql_plot::PICTURE_SCRIPT)
}

fn text(kind: &'static str, text: String) -> Response {
    let kind = format!("{kind}; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

fn of(answer: Result<Value>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    match answer {
        Ok(value) => (kind, value.to_string()).into_response(),
        Err(error) => refused(&error),
    }
}

fn refused(error: &Error) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let code = match error {
        Error::Io { .. } | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let told = serde_json::to_string(&Told::from(error)).unwrap_or_default();
    (code, kind, told).into_response()
}

fn posted<T: DeserializeOwned>(bytes: &Bytes) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::Argument {
        name: "body",
        reason: error.to_string(),
    })
}

/// The numbers of a query string.
fn numbers(uri: &Uri) -> HashMap<String, u64> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let numbers = pairs.filter_map(|(name, value)| Some((name.into_owned(), value.parse().ok()?)));
    numbers.collect()
}

async fn told_catalog(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    of(computing
        .run(async move || catalog::catalog(&served).await)
        .await)
}

async fn told_state(State(served): Shared) -> Response {
    of(Ok(
        json!({"running": served.running(), "answers": served.answers.count()}),
    ))
}

async fn told_news(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    match computing.lines(move |lines| news::tell(served, lines)) {
        Ok(lines) => streamed("text/event-stream", lines),
        Err(error) => refused(&error),
    }
}

fn streamed(kind: &'static str, lines: impl Stream<Item = String> + Send + 'static) -> Response {
    let body = Body::from_stream(lines.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn store_page(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    let page = computing.run(async move || served.page().await).await;
    match page {
        Ok(page) => text("text/html", page.as_ref().to_owned()),
        Err(error) => refused(&error),
    }
}

async fn suggest(State(served): Shared, body: Bytes) -> Response {
    let typed = match posted(&body) {
        Ok(typed) => typed,
        Err(error) => return refused(&error),
    };
    let computing = served.computing.clone();
    of(computing
        .run(async move || catalog::suggested(&served, &typed).await)
        .await)
}

async fn ask(State(served): Shared, body: Bytes) -> Response {
    let asked = match posted(&body) {
        Ok(asked) => asked,
        Err(error) => return refused(&error),
    };
    let computing = served.computing.clone();
    match computing.lines(move |lines| asking::ask(served, asked, lines)) {
        Ok(lines) => streamed("application/x-ndjson", lines),
        Err(error) => refused(&error),
    }
}

/// The order that a query string asks for.
fn order(asked: &HashMap<String, u64>) -> Option<Order> {
    let column = *asked.get("by")?;
    Some(Order {
        column: usize::try_from(column).unwrap_or(usize::MAX),
        is_down: asked.get("down") == Some(&1),
    })
}

/// The rows of an answer, in this order or as the question gave them.
async fn ordered(served: &Arc<Served>, id: u64, order: Option<Order>) -> Result<Arc<Kept>> {
    let answer = served.answers.get(id)?;
    let Some(order) = order else {
        return Ok(Arc::clone(&answer.rows));
    };
    let _running = served.begun();
    let context = served.session(Some("SELECT 1")).await?;
    sorting::sorted(&served.answers, &answer, &context, order).await
}

async fn rows(State(served): Shared, Path(id): Path<u64>, uri: Uri) -> Response {
    let asked = numbers(&uri);
    let number = |name: &str| asked.get(name).copied();
    let order = order(&asked);
    let (from, count) = (number("from").unwrap_or(0), number("count").unwrap_or(100));
    let computing = served.computing.clone();
    let window = async move || windows::window(&*ordered(&served, id, order).await?, from, count);
    of(computing.run(window).await)
}

async fn value(State(served): Shared, Path(id): Path<u64>, uri: Uri) -> Response {
    let asked = numbers(&uri);
    let number = |name: &str| asked.get(name).copied();
    let order = order(&asked);
    let column = number("column").and_then(|column| usize::try_from(column).ok());
    let (row, column) = (
        number("row").unwrap_or(u64::MAX),
        column.unwrap_or(usize::MAX),
    );
    let computing = served.computing.clone();
    let found = async move || windows::value(&*ordered(&served, id, order).await?, row, column);
    of(computing.run(found).await)
}

/// What a picture is wanted as.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    drawn: Drawn,
    /// `page`, `svg` or `png`.
    form: String,
    #[serde(default)]
    is_dark: bool,
}

async fn picture(State(served): Shared, Path(id): Path<u64>, body: Bytes) -> Response {
    let wanted: Wanted = match posted(&body) {
        Ok(wanted) => wanted,
        Err(error) => return refused(&error),
    };
    let computing = served.computing.clone();
    let running = served.begun();
    let made = async move || {
        let _running = running;
        let answer = served.answers.get(id)?;
        let chart = drawn(&answer, wanted.drawn).await?;
        let look = Look {
            theme: if wanted.is_dark {
                Theme::Dark
            } else {
                Theme::Light
            },
            size: Size::Column,
        };
        Ok(match wanted.form.as_str() {
            "png" => ("image/png", chart.png(look, 1280).map_err(Error::Drawing)?),
            "svg" => ("image/svg+xml", chart.svg(look).into_bytes()),
            _ => ("image/svg+xml", chart.figure(look).into_bytes()),
        })
    };
    match computing.run(made).await {
        Ok((kind, bytes)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(error) => refused(&error),
    }
}

/// All rows, whatever their number: written as they are taken.
async fn file(State(served): Shared, Path((id, name)): Path<(u64, String)>, uri: Uri) -> Response {
    let Some(kind) = FileKind::named(&name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let order = order(&numbers(&uri));
    let computing = served.computing.clone();
    let running = served.begun();
    let found = async move || ordered(&served, id, order).await;
    let bytes = match computing.run(found).await {
        Ok(rows) => computing.lines(async move |to| {
            let _running = running;
            if let Err(error) = files::send(rows, kind, &to).await {
                // Whoever takes it sees that it is not whole: the connection breaks.
                let _ = to.send(Err(std::io::Error::other(error))).await;
            }
        }),
        Err(error) => Err(error),
    };
    match bytes {
        Ok(bytes) => {
            let kind = kind.media_type();
            let named = format!("attachment; filename=\"{name}\"");
            let heads = [
                (header::CONTENT_TYPE, kind),
                (header::CONTENT_DISPOSITION, named.as_str()),
            ];
            (heads, Body::from_stream(bytes)).into_response()
        }
        Err(error) => refused(&error),
    }
}

async fn forget(State(served): Shared, Path(id): Path<u64>) -> Response {
    served.answers.forget(id);
    of(Ok(json!({})))
}
