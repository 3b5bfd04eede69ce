//! Shared state of all requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::prelude::SessionContext;
use tsql_dialect::completion::Vocabulary;
use tsql_error::Result;
use tsql_session::open_session_with;
use tsql_session::{NamedQuery, QueryThreads, SessionOptions, built_in_queries, user_queries};
use tsql_store::Store;

use super::options::UiOptions;
use super::results::ResultStore;
use crate::html_report::html_report_with;

/// Cached HTML report, with the versions of the tables that it shows.
type CachedReport = Option<(String, Arc<str>)>;

/// Shared state of all requests.
#[derive(Debug)]
pub(super) struct AppState {
    pub(super) store: Store,
    pub(super) options: UiOptions,
    pub(super) computing: QueryThreads,
    pub(super) results: ResultStore,
    /// Number of running queries.
    running: AtomicUsize,
    words: OnceLock<Arc<Vocabulary>>,
    page: Mutex<CachedReport>,
}

/// Guard that counts a running query.
#[derive(Debug)]
pub(super) struct RunningQueryGuard(Arc<AppState>);

impl Drop for RunningQueryGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AppState {
    pub(super) fn new(store: Store, mut options: UiOptions) -> Result<Self> {
        let mut session = options.session.share_memory()?;
        if !options.files {
            session = session.store_only();
        }
        options.session = session;
        Ok(Self {
            store,
            options,
            computing: QueryThreads::current(),
            results: ResultStore::new()?,
            running: AtomicUsize::new(0),
            words: OnceLock::new(),
            page: Mutex::default(),
        })
    }

    /// Counts a query as running until the guard is dropped.
    pub(super) fn start_query(self: &Arc<Self>) -> RunningQueryGuard {
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningQueryGuard(Arc::clone(self))
    }

    pub(super) fn running_count(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Session over the current version of the store, with the tables that this SQL names, or with all.
    pub(super) async fn session(&self, sql: Option<&str>) -> Result<SessionContext> {
        let options = match sql {
            Some(sql) => self.options.session.clone().sql(sql),
            None => self.options.session.clone(),
        };
        open_session_with(&self.store, &options).await
    }

    pub(super) fn session_options(&self) -> &SessionOptions {
        &self.options.session
    }

    /// Vocabulary of any session.
    pub(super) async fn vocabulary(&self) -> Result<Arc<Vocabulary>> {
        if let Some(words) = self.words.get() {
            return Ok(Arc::clone(words));
        }
        let words = Arc::new(Vocabulary::from_session(&self.session(None).await?).await?);
        Ok(Arc::clone(self.words.get_or_init(|| words)))
    }

    /// Built-in and user-defined queries. User-defined ones override built-in ones of the same name.
    pub(super) fn queries(&self) -> Vec<NamedQuery> {
        let mut all = user_queries(&self.options.question_folders).questions;
        for question in built_in_queries() {
            if !all.iter().any(|own| own.name == question.name) {
                all.push(question);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// HTML report of the current version of the store.
    pub(super) async fn html_report(&self) -> Result<Arc<str>> {
        let versions = format!("{:?}", self.store.current_versions().await?);
        let known = self
            .page
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((of, page)) = known
            && of == versions
        {
            return Ok(page);
        }
        let page = html_report_with(&self.store, &self.options.name, self.session_options());
        let page: Arc<str> = page.await?.into();
        let made = Some((versions, Arc::clone(&page)));
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(page)
    }
}
