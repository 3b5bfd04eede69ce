//! Files as tables: `FROM 'predictions.parquet'`, `FROM 'logs/*.csv.gz'`, `FROM read_csv('x.log', delim => ';')`,
//! `FROM 'x.npz'`.
//!
//! Takes a path, a pattern, a folder or a URL; gives a table of DataFusion's, which reads. Decided here is which files are
//! meant, what they hold, and which columns files of different columns have together.

mod found;
mod kind;
mod npz;
mod options;
mod read;
mod tabs;
mod together;

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;

use kind::Kind;

pub(super) use options::as_table;

/// The state of the session that asks, as long as there is one.
type Asking = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

/// Tables by the paths of files.
#[derive(Default)]
struct Files {
    asking: OnceLock<Asking>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

#[async_trait]
impl UrlTableFactory for Files {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let state = self.asking.get().and_then(|asking| asking());
        let gone = || DataFusionError::Internal("the session is gone".to_owned());
        read::table(&state.ok_or_else(gone)?, &options::wanted(name)?).await
    }
}

/// Lines of a file before its first row, as its name tells.
pub(super) fn lines_before_rows(path: &str) -> u64 {
    let has_header = [Kind::Csv, Kind::Tsv];
    u64::from(kind::named(path).is_some_and(|(_, kind)| has_header.contains(&kind)))
}

/// The session, where what is no table may be the path of files.
pub(super) fn with_files(context: SessionContext) -> SessionContext {
    let files = Arc::new(Files::default());
    let catalogs = Arc::clone(context.state_ref().read().catalog_list());
    let factory: Arc<dyn UrlTableFactory> = Arc::clone(&files) as _;
    let catalogs = DynamicFileCatalog::new(catalogs, factory);
    let id = context.session_id();
    let builder = context.into_state_builder().with_session_id(id);
    let state = builder.with_catalog_list(Arc::new(catalogs)).build();
    let context = SessionContext::new_with_state(state);
    // Weak: the catalogs are a part of the state.
    let state = Arc::downgrade(&context.state_ref());
    let asking = move || state.upgrade().map(|state| state.read().clone());
    let _ = files.asking.set(Box::new(asking));
    context
}
