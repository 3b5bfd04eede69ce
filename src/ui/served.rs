//! What all requests are answered from.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::prelude::SessionContext;

use super::answers::Answers;
use super::computing::Computing;
use super::options::UiOptions;
use crate::error::Result;
use crate::query::completion::Vocabulary;
use crate::query::{Question, SessionOptions, own_questions, questions};
use crate::store::Store;

/// The store's page, of the versions of the tables that it shows.
type Page = Option<(String, Arc<str>)>;

/// What all requests are answered from.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) store: Store,
    pub(super) options: UiOptions,
    pub(super) computing: Computing,
    pub(super) answers: Answers,
    /// Questions that run.
    running: AtomicUsize,
    words: OnceLock<Arc<Vocabulary>>,
    page: Mutex<Page>,
}

/// A question that runs.
#[derive(Debug)]
pub(super) struct Running(Arc<Served>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Served {
    pub(super) fn new(store: Store, mut options: UiOptions) -> Result<Self> {
        let mut session = options.session.sharing()?;
        if !options.files {
            session = session.store_only();
        }
        options.session = session;
        Ok(Self {
            store,
            options,
            computing: Computing::here(),
            answers: Answers::new()?,
            running: AtomicUsize::new(0),
            words: OnceLock::new(),
            page: Mutex::default(),
        })
    }

    /// Counts a question until what this gives goes.
    pub(super) fn begun(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(self))
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// A session over the store as it is now: what this SQL names of it, or all.
    pub(super) async fn session(&self, sql: Option<&str>) -> Result<SessionContext> {
        let options = match sql {
            Some(sql) => self.options.session.clone().sql(sql),
            None => self.options.session.clone(),
        };
        self.store.session_with(&options).await
    }

    pub(super) fn session_options(&self) -> &SessionOptions {
        &self.options.session
    }

    /// The words of any session.
    pub(super) async fn words(&self) -> Result<Arc<Vocabulary>> {
        if let Some(words) = self.words.get() {
            return Ok(Arc::clone(words));
        }
        let words = Arc::new(Vocabulary::of(&self.session(None).await?).await?);
        Ok(Arc::clone(self.words.get_or_init(|| words)))
    }

    /// The questions that come with tsql, and the user's own, which go before those of the same name.
    pub(super) fn questions(&self) -> Vec<Question> {
        let mut all = own_questions(&self.options.question_folders).questions;
        for question in questions() {
            if !all.iter().any(|own| own.name == question.name) {
                all.push(question);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The page of the store as it is now.
    pub(super) async fn page(&self) -> Result<Arc<str>> {
        let versions = format!("{:?}", self.store.versions().await?);
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
        let page = self
            .store
            .page_with(&self.options.name, self.session_options());
        let page: Arc<str> = page.await?.into();
        let made = Some((versions, Arc::clone(&page)));
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(page)
    }
}
