//! Questions to the store, one after the other, in a session that lives as long as the shell.

use std::future::Future;

use super::super::built_in_queries;
use super::super::outcome::Failure;
use super::super::output::Output;
use super::super::signals;
use super::super::sql::{Shown, answer};
use super::super::store_options::StoreOptions;
use super::prompt::{NO_STORE, Standing, name, version};
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::query::completion::{SharedVocabulary, Vocabulary};
use crate::query::statement::{parse_statements, plan_statement};
use crate::query::{LiveSession, execute_cancellable, question_among, references_store};
use crate::store::Store;

/// Whoever asks.
pub(super) struct Asker<'a> {
    pub(super) place: &'a StoreOptions,
    /// `None` where there is none.
    store: Option<Store>,
    pub(super) session: LiveSession,
    pub(super) words: SharedVocabulary,
    /// The last SQL that was asked.
    pub(super) last: Option<String>,
}

impl<'a> Asker<'a> {
    /// A session over the store of a place, or one without any.
    pub(super) async fn new(place: &'a StoreOptions) -> Result<Self> {
        let store = find_query(place).await?;
        let session = session(place, store.as_ref()).await?;
        let asker = Self {
            place,
            store,
            session,
            words: SharedVocabulary::default(),
            last: None,
        };
        asker.look_up().await?;
        Ok(asker)
    }

    /// What stands before what is typed next.
    pub(super) fn prompt(&self) -> Standing {
        let Some(store) = &self.store else {
            return Standing::new(NO_STORE, None);
        };
        let version = version(self.place.at(), &self.session);
        if self.place.is_sample() {
            return Standing::new("sample", self.place.at().and(version.as_deref()));
        }
        Standing::new(&name(store), version.as_deref())
    }

    /// Answers each statement of a text; the first that fails ends it.
    pub(super) async fn ask(&mut self, text: &str, settings: &mut Settings) -> Result<(), Failure> {
        let statements = parse_statements(text)?;
        self.last = Some(text.trim().to_owned());
        self.bring_up_to_date(text).await?;
        for statement in statements {
            let context = self.session.context();
            let frame = plan_statement(context, statement.clone(), text);
            self.show(frame, settings).await?;
            self.session.track_prepared(&statement, text);
            self.learn().await?;
        }
        Ok(())
    }

    /// Answers a ready-made question. Its files are tables only while it is asked.
    pub(super) async fn ask_question(
        &mut self,
        name: &str,
        given: &[(String, String)],
        settings: &mut Settings,
    ) -> Result<(), Failure> {
        let question = question_among(built_in_queries::all(self.place)?, name)?;
        self.bring_up_to_date(&question.referenced_sql()).await?;
        let context = self.session.context();
        let mut hidden = Vec::new();
        for (name, _) in &question.files {
            let table = context.deregister_table(name.as_str());
            hidden.push((name, table.map_err(Error::Query)?));
        }
        let values = built_in_queries::choose_values(&question, context, given).await?;
        let asked = self.show(question.run(context, &values), settings).await;
        if let Ok(0) = asked {
            built_in_queries::tell_empty(&question, context, &values).await?;
        }
        for (name, table) in hidden {
            context
                .deregister_table(name.as_str())
                .map_err(Error::Query)?;
            if let Some(table) = table {
                let back = context.register_table(name.as_str(), table);
                back.map_err(Error::Query)?;
            }
        }
        asked.map(|_| ())
    }

    /// Looks for what others have committed, and for a store where there was none.
    async fn bring_up_to_date(&mut self, sql: &str) -> Result<(), Failure> {
        if self.store.is_none() && references_store(sql)? {
            self.store = Some(self.place.open().await?);
            self.session = session(self.place, self.store.as_ref()).await?;
        }
        if interruptible(self.session.refresh()).await? {
            self.look_up().await?;
        }
        interruptible(self.session.register_object_stores(sql)).await
    }

    /// Prints an answer, unless Ctrl-C comes first; its rows.
    async fn show(
        &self,
        frame: impl Future<Output = Result<datafusion::dataframe::DataFrame>>,
        settings: &mut Settings,
    ) -> Result<u64, Failure> {
        let outlet = settings.outlet()?;
        let shown = Shown {
            output: &outlet.output,
            timer: settings.timer,
            execute: execute_cancellable,
        };
        let context = self.session.context();
        let rows = interruptible(answer(self.place, context, frame, &shown)).await?;
        outlet.close()?;
        Ok(rows)
    }

    /// Looks at what the last statement has made.
    async fn learn(&mut self) -> Result<()> {
        if self.session.track_changes().await? {
            self.look_up().await?;
        }
        Ok(())
    }

    async fn look_up(&self) -> Result<()> {
        let vocabulary = Vocabulary::from_session(self.session.context()).await?;
        self.words.replace(vocabulary);
        Ok(())
    }
}

/// Shows columns that were made here.
pub(super) async fn list(
    settings: &mut Settings,
    show: impl AsyncFnOnce(&Output) -> Result<u8, Failure>,
) -> Result<(), Failure> {
    let outlet = settings.outlet()?;
    show(&outlet.output).await?;
    Ok(outlet.close()?)
}

/// The store of a place; `None` where none was named and none is near.
async fn find_query(place: &StoreOptions) -> Result<Option<Store>> {
    match place.open().await {
        Err(Error::NoStore) => Ok(None),
        found => found.map(Some),
    }
}

async fn session(place: &StoreOptions, store: Option<&Store>) -> Result<LiveSession> {
    let options = place.options(None)?;
    match store {
        Some(store) => store.live_session(&options).await,
        None => {
            let nothing = Store::create("memory:").await?;
            nothing.live_session(&options).await
        }
    }
}

/// Does some work that Ctrl-C ends.
async fn interruptible<T, E: Into<Failure>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    tokio::select! {
        () = signals::wait_for_interrupt() => Err(Error::Interrupted.into()),
        done = work => done.map_err(Into::into),
    }
}
