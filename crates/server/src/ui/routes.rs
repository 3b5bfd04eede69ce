//! HTTP routes.
//!
//! | path | response |
//! |---|---|
//! | `GET /?token=T` | the cookie, and a redirect |
//! | `GET /P/`, `style.css`, `script.js` | the page |
//! | `GET /P/catalog` | tables, queries, platforms |
//! | `GET /P/updates` | row counts by table after each change, as events |
//! | `POST /P/completions` | completions |
//! | `POST /P/query` | JSON lines: see `query_stream` |
//! | `GET /P/results/7/rows?from=0&count=100&by=2&down=1` | some rows, in an order |
//! | `GET /P/results/7/value?row=3&column=1` | one complete value |
//! | `GET /P/results/7/file/rows.csv?by=2` | all rows as a file, or `rows.parquet` |
//! | `POST /P/results/7/plot` | a chart: SVG for the page, or a file |
//! | `POST /P/results/7/delete` | nothing: its tab is closed |
//! | `GET /P/store.html` | the HTML report |
//! | `GET /P/state` | number of running queries |

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
use tsql_error::{Error, Result};
use url::form_urlencoded;

use super::app_state::AppState;
use super::charts::{ChartRequest, draw_chart};
use super::error_body::ErrorBody;
use super::files::{self, FileKind};
use super::gate::{AccessControl, check_request};
use super::result_file::ResultFile;
use super::results::SortOrder;
use super::{catalog, live_updates, query_stream, sorting, windows};
use crate::plot::{Appearance, PlotSize, Theme};

/// Response to a download of an unknown format.
const UNKNOWN_FILE: &str = "file not found, expected `rows.csv` or `rows.parquet`\n";

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");

/// Scripts in a common scope, in the order of their dependencies.
const SCRIPT: &str = concat!(
    "(() => {\n",
    include_str!("page/base.js"),
    include_str!("page/editor.js"),
    include_str!("page/result.js"),
    include_str!("page/query.js"),
    include_str!("page/plot.js"),
    include_str!("page/catalog.js"),
    include_str!("page/live_updates.js"),
    include_str!("page/start.js"),
    "})();\n"
);

type Shared = State<Arc<AppState>>;

/// All routes, behind the access control.
pub(super) fn router(served: Arc<AppState>, gate: Arc<AccessControl>) -> Router {
    let at = |path: &str| format!("/{}/{path}", gate.base_path());
    let door = Arc::clone(&gate);
    Router::new()
        .route("/", get(move || async move { door.login_response() }))
        .route(&at(""), get(async || text("text/html", PAGE.to_owned())))
        .route(&at("style.css"), get(async || text("text/css", style())))
        .route(
            &at("script.js"),
            get(async || text("text/javascript", script())),
        )
        .route(&at("catalog"), get(get_catalog))
        .route(&at("updates"), get(get_updates))
        .route(&at("state"), get(get_state))
        .route(&at("store.html"), get(get_report))
        .route(&at("completions"), post(post_completions))
        .route(&at("query"), post(post_query))
        .route(&at("results/{id}/rows"), get(get_rows))
        .route(&at("results/{id}/value"), get(get_value))
        .route(&at("results/{id}/plot"), post(post_chart))
        .route(&at("results/{id}/file/{name}"), get(get_file))
        .route(&at("results/{id}/delete"), post(post_delete))
        .fallback(async |_: Request| (StatusCode::NOT_FOUND, "page not found\n"))
        .layer(from_fn_with_state(gate, check_request))
        .with_state(served)
}

fn style() -> String {
    format!("{}{STYLE}", tsql_plot::theme_css())
}

fn script() -> String {
    format!("{}{SCRIPT}", tsql_plot::PLOT_SCRIPT)
}

fn text(kind: &'static str, text: String) -> Response {
    let kind = format!("{kind}; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

fn json_response(result: Result<Value>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    match result {
        Ok(value) => (kind, value.to_string()).into_response(),
        Err(error) => error_response(&error),
    }
}

fn error_response(error: &Error) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let code = match error {
        Error::Io { .. } | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let body = serde_json::to_string(&ErrorBody::from(error)).unwrap_or_default();
    (code, kind, body).into_response()
}

fn parse_body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::Argument {
        name: "body",
        reason: error.to_string(),
    })
}

/// Numeric parameters of a query string.
fn query_numbers(uri: &Uri) -> HashMap<String, u64> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let numbers = pairs.filter_map(|(name, value)| Some((name.into_owned(), value.parse().ok()?)));
    numbers.collect()
}

async fn get_catalog(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    json_response(
        computing
            .run(async move || catalog::catalog(&served).await)
            .await,
    )
}

async fn get_state(State(served): Shared) -> Response {
    json_response(Ok(
        json!({"running": served.running_count(), "results": served.results.count()}),
    ))
}

async fn get_updates(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    match computing.lines(move |lines| live_updates::stream_updates(served, lines)) {
        Ok(lines) => stream_response("text/event-stream", lines),
        Err(error) => error_response(&error),
    }
}

fn stream_response(
    kind: &'static str,
    lines: impl Stream<Item = String> + Send + 'static,
) -> Response {
    let body = Body::from_stream(lines.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn get_report(State(served): Shared) -> Response {
    let computing = served.computing.clone();
    let page = computing
        .run(async move || served.html_report().await)
        .await;
    match page {
        Ok(page) => text("text/html", page.as_ref().to_owned()),
        Err(error) => error_response(&error),
    }
}

async fn post_completions(State(served): Shared, body: Bytes) -> Response {
    let typed = match parse_body(&body) {
        Ok(typed) => typed,
        Err(error) => return error_response(&error),
    };
    let computing = served.computing.clone();
    json_response(
        computing
            .run(async move || catalog::suggest_words(&served, &typed).await)
            .await,
    )
}

async fn post_query(State(served): Shared, body: Bytes) -> Response {
    let request = match parse_body(&body) {
        Ok(request) => request,
        Err(error) => return error_response(&error),
    };
    let computing = served.computing.clone();
    match computing.lines(move |lines| query_stream::stream_query(served, request, lines)) {
        Ok(lines) => stream_response("application/x-ndjson", lines),
        Err(error) => error_response(&error),
    }
}

/// Sort order in a query string.
fn parse_order(request: &HashMap<String, u64>) -> Option<SortOrder> {
    let column = *request.get("by")?;
    Some(SortOrder {
        column: usize::try_from(column).unwrap_or(usize::MAX),
        is_down: request.get("down") == Some(&1),
    })
}

/// Rows of a result, in the requested order or that of the query.
async fn rows_in_order(
    served: &Arc<AppState>,
    id: u64,
    order: Option<SortOrder>,
) -> Result<Arc<ResultFile>> {
    let result = served.results.get(id)?;
    let Some(order) = order else {
        return Ok(Arc::clone(&result.rows));
    };
    let _running = served.start_query();
    let context = served.session(Some("SELECT 1")).await?;
    sorting::sort_result(&served.results, &result, &context, order).await
}

async fn get_rows(State(served): Shared, Path(id): Path<u64>, uri: Uri) -> Response {
    let request = query_numbers(&uri);
    let number = |name: &str| request.get(name).copied();
    let order = parse_order(&request);
    let (from, count) = (number("from").unwrap_or(0), number("count").unwrap_or(100));
    let computing = served.computing.clone();
    let window =
        async move || windows::window(&*rows_in_order(&served, id, order).await?, from, count);
    json_response(computing.run(window).await)
}

async fn get_value(State(served): Shared, Path(id): Path<u64>, uri: Uri) -> Response {
    let request = query_numbers(&uri);
    let number = |name: &str| request.get(name).copied();
    let order = parse_order(&request);
    let column = number("column").and_then(|column| usize::try_from(column).ok());
    let (row, column) = (
        number("row").unwrap_or(u64::MAX),
        column.unwrap_or(usize::MAX),
    );
    let computing = served.computing.clone();
    let found =
        async move || windows::value(&*rows_in_order(&served, id, order).await?, row, column);
    json_response(computing.run(found).await)
}

/// Format of a chart image.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageRequest {
    #[serde(default)]
    chart: ChartRequest,
    /// `page`, `svg` or `png`.
    format: String,
    #[serde(default)]
    is_dark: bool,
}

async fn post_chart(State(served): Shared, Path(id): Path<u64>, body: Bytes) -> Response {
    let wanted: ImageRequest = match parse_body(&body) {
        Ok(wanted) => wanted,
        Err(error) => return error_response(&error),
    };
    let computing = served.computing.clone();
    let running = served.start_query();
    let made = async move || {
        let _running = running;
        let result = served.results.get(id)?;
        let chart = draw_chart(&result, wanted.chart).await?;
        let look = Appearance {
            theme: if wanted.is_dark {
                Theme::Dark
            } else {
                Theme::Light
            },
            size: PlotSize::Column,
        };
        Ok(match wanted.format.as_str() {
            "png" => ("image/png", chart.png(look, 1280).map_err(Error::Drawing)?),
            "svg" => ("image/svg+xml", chart.svg(look).into_bytes()),
            _ => ("image/svg+xml", chart.figure(look).into_bytes()),
        })
    };
    match computing.run(made).await {
        Ok((kind, bytes)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(error) => error_response(&error),
    }
}

/// All rows, streamed while they are written.
async fn get_file(
    State(served): Shared,
    Path((id, name)): Path<(u64, String)>,
    uri: Uri,
) -> Response {
    let Some(kind) = FileKind::from_file_name(&name) else {
        return (StatusCode::NOT_FOUND, UNKNOWN_FILE).into_response();
    };
    let order = parse_order(&query_numbers(&uri));
    let computing = served.computing.clone();
    let running = served.start_query();
    let found = async move || rows_in_order(&served, id, order).await;
    let bytes = match computing.run(found).await {
        Ok(rows) => computing.lines(async move |to| {
            let _running = running;
            if let Err(error) = files::send_file(rows, kind, &to).await {
                // The broken connection shows the client that the file is incomplete.
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
        Err(error) => error_response(&error),
    }
}

async fn post_delete(State(served): Shared, Path(id): Path<u64>) -> Response {
    served.results.remove(id);
    json_response(Ok(json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_declares_all_its_variables() {
        let style = style();
        let used = style.split("var(--").skip(1);
        let used = used.map(|rest| rest.split([')', ',']).next().unwrap());
        let mut count = 0;
        for name in used {
            assert!(style.contains(&format!("--{name}:")), "--{name}");
            count += 1;
        }
        assert!(count > 20, "the search finds variables");
    }
}
