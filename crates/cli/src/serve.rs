//! `tsql serve`: the store for database clients.

use clap::Args;
use tsql_flight::{FlightOptions, FlightServer};

use super::outcome::{DONE, Failure};
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Serve a store to database clients, with Arrow Flight SQL
///
/// Drivers such as ADBC and JDBC connect to the address, run SQL and prepared statements, and list tables. It only
/// reads, and only the store. All running queries share --memory-limit; a query ends with its client. Clients need the
/// token of TSQL_TOKEN, or of the file in TSQL_TOKEN_FILE. Other machines can connect only with TLS (--tls-cert FILE
/// --tls-key FILE) and a token, or with client certificates (--tls-ca FILE). On 127.0.0.1 both are optional. Ctrl-C
/// ends the server.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql serve --flight 127.0.0.1:31337 --memory-limit 4GiB\n  \
    TSQL_TOKEN_FILE=/etc/tsql/token tsql serve --flight 0.0.0.0:31337 \\\n      \
    --tls-cert server.pem --tls-key server.key --store s3://measurements/tenset")]
pub(super) struct Serve {
    /// Address and port of the Flight SQL service; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT")]
    flight: String,
}

pub(super) async fn run(place: &StoreOptions, command: Serve) -> Result<u8, Failure> {
    let store = place.open().await?;
    let location = if place.is_sample() {
        "the sample".to_owned()
    } else {
        store.location().as_str().to_owned()
    };
    let options = FlightOptions::default()
        .listen(command.flight)
        .security(place.security()?)
        .session(place.options(None)?);
    let stop = super::signals::termination()?;
    let server = FlightServer::start(store, options).await?;
    print_message(&format!(
        "Flight SQL listens on {}, serves {location} (Ctrl-C stops the server)",
        server.url()
    ));
    server.serve(stop).await?;
    Ok(DONE)
}
