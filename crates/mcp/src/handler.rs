//! Requests of the protocol.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use tsql_error::redact::redact_urls;
use tsql_error::{Error, Result};

use super::arguments::{self, parse};
#[cfg(feature = "plot")]
use super::chart;
use super::definitions::{INSTRUCTIONS, argument_names, tools};
use super::server_state::ServerState;
use super::{catalog, comparison, query};

/// Handler of all requests of a client.
#[derive(Debug)]
pub(crate) struct Handler(pub(crate) Arc<ServerState>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("tsql", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let state = Arc::clone(&self.0);
        let threads = state.threads.clone();
        let called = threads.run(async move || call(state, request).await);
        let called = tokio::select! {
            called = called => called,
            // Dropping the future ends the query.
            () = context.ct.cancelled() => Err(Error::Interrupted),
        };
        Ok(match called {
            Ok(content) => CallToolResult::success(content),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error_text(&error))]),
        }
        .into())
    }
}

/// Runs a tool.
async fn call(
    state: Arc<ServerState>,
    request: CallToolRequestParams,
) -> Result<Vec<ContentBlock>> {
    let tool = request.name.as_ref();
    let all = tools();
    let Some(known) = argument_names(&all, tool) else {
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_ref()).collect();
        return Err(Error::Unknown {
            kind: "tool",
            name: tool.to_owned(),
            known: names.join(", "),
        });
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let given = request.arguments.unwrap_or_default();
    match tool {
        "list_tables" => json(&catalog::list_tables(&state, parse(tool, &known, given)?).await?),
        "describe_table" => json(&catalog::describe_table(&parse(tool, &known, given)?)?),
        "list_queries" => {
            let arguments::ListQueries {} = parse(tool, &known, given)?;
            json(&catalog::list_queries(&state))
        }
        "query" => json(&query::query(&state, parse(tool, &known, given)?).await?),
        "run_query" => json(&query::run_query(&state, parse(tool, &known, given)?).await?),
        #[cfg(feature = "plot")]
        "plot" => chart::plot(&state, parse(tool, &known, given)?).await,
        "compare" => json(&comparison::compare_sides(&state, parse(tool, &known, given)?).await?),
        _ => Err(Error::Internal(format!(
            "the tool `{tool}` is not implemented"
        ))),
    }
}

/// Returns a result as JSON text.
fn json(result: &impl Serialize) -> Result<Vec<ContentBlock>> {
    let text = serde_json::to_string(result);
    let text = text.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(vec![ContentBlock::text(text)])
}

/// Returns the message of an error with its hint, and with its position in the SQL text.
fn error_text(error: &Error) -> String {
    match error {
        Error::Sql(mistake) => {
            let mut text = format!("error: {}", redact_urls(&mistake.message));
            if let Some(span) = &mistake.span {
                text += &format!("\nat line {}, column {}", span.line, span.column);
            }
            if let Some(hint) = &mistake.hint {
                text += &format!("\nhint: {hint}");
            }
            text
        }
        Error::Interrupted => "error: the request was cancelled".to_owned(),
        _ => format!("error: {}", redact_urls(&error.to_string())),
    }
}
