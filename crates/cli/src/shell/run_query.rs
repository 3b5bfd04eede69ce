//! Queries of the shell, one after the other, in one session.

use std::future::Future;

use tsql_dialect::completion::{SharedVocabulary, Vocabulary};
use tsql_dialect::referenced_tables::references_store;
use tsql_dialect::statement::{parse_statements, plan_statement};
use tsql_engine::execute_cancellable;
use tsql_error::{Error, Result};
use tsql_session::open_live_session;
use tsql_session::{LiveSession, find_query};
use tsql_store::Store;

use super::super::built_in_queries;
use super::super::empty_result;
use super::super::outcome::Failure;
use super::super::output::Output;
use super::super::result_content::PrintedResult;
use super::super::signals;
use super::super::sql::{Shown, run_query};
use super::super::store_options::StoreOptions;
use super::prompt::{NO_STORE, StorePrompt, name, version};
use super::settings::Settings;

/// Runs the queries of a shell.
pub(super) struct QueryRunner<'a> {
    pub(super) place: &'a StoreOptions,
    /// `None` if no store was found.
    store: Option<Store>,
    pub(super) session: LiveSession,
    pub(super) words: SharedVocabulary,
    /// SQL of the last query.
    pub(super) last: Option<String>,
}

impl<'a> QueryRunner<'a> {
    /// Opens a session over the selected store, or one without a store.
    pub(super) async fn new(place: &'a StoreOptions) -> Result<Self> {
        let store = find_store(place).await?;
        let session = session(place, store.as_ref()).await?;
        let runner = Self {
            place,
            store,
            session,
            words: SharedVocabulary::default(),
            last: None,
        };
        runner.look_up().await?;
        Ok(runner)
    }

    /// Returns the prompt of the next entry.
    pub(super) fn prompt(&self) -> StorePrompt {
        let Some(store) = &self.store else {
            return StorePrompt::new(NO_STORE, None);
        };
        let version = version(self.place.at(), &self.session);
        if self.place.is_sample() {
            return StorePrompt::new("sample", self.place.at().and(version.as_deref()));
        }
        StorePrompt::new(&name(store), version.as_deref())
    }

    /// Runs each statement of a text, until one fails.
    pub(super) async fn run(&mut self, text: &str, settings: &mut Settings) -> Result<(), Failure> {
        let statements = parse_statements(text)?;
        self.last = Some(text.trim().to_owned());
        self.bring_up_to_date(text).await?;
        for statement in statements {
            let context = self.session.context();
            let named = empty_result::named_values(&statement);
            let frame = plan_statement(context, statement.clone(), text);
            if self.show(frame, settings).await?.is_blank {
                interruptible(async {
                    empty_result::hint(context, &named).await;
                    Ok::<_, Error>(())
                })
                .await?;
            }
            self.session.track_prepared(&statement, text);
            self.learn().await?;
        }
        Ok(())
    }

    /// Runs a named query. Its files are tables only while it runs.
    pub(super) async fn run_named(
        &mut self,
        name: &str,
        parameters: &[(String, String)],
        settings: &mut Settings,
    ) -> Result<(), Failure> {
        let query = find_query(built_in_queries::all(self.place)?, name)?;
        self.bring_up_to_date(&query.referenced_sql()).await?;
        let context = self.session.context();
        let mut hidden = Vec::new();
        for (name, _) in &query.files {
            let table = context.deregister_table(name.as_str());
            hidden.push((name, table.map_err(Error::Query)?));
        }
        let values = built_in_queries::choose_values(&query, context, parameters).await?;
        let result = self.show(query.run(context, &values), settings).await;
        if let Ok(PrintedResult { rows: 0, .. }) = result {
            built_in_queries::print_empty_reason(&query, context, &values).await?;
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
        result.map(|_| ())
    }

    /// Refreshes the session after commits of others, and opens a store if there was none.
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

    /// Prints a result, unless Ctrl-C interrupts it; returns its content.
    async fn show(
        &self,
        frame: impl Future<Output = Result<datafusion::dataframe::DataFrame>>,
        settings: &mut Settings,
    ) -> Result<PrintedResult, Failure> {
        let outlet = settings.outlet()?;
        let shown = Shown {
            output: &outlet.output,
            timer: settings.timer,
            execute: execute_cancellable,
        };
        let context = self.session.context();
        let content = interruptible(run_query(self.place, context, frame, &shown)).await?;
        outlet.close()?;
        Ok(content)
    }

    /// Updates the vocabulary after a statement that changed tables or views.
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

/// Prints a list with the settings of results.
pub(super) async fn list(
    settings: &mut Settings,
    show: impl AsyncFnOnce(&Output) -> Result<u8, Failure>,
) -> Result<(), Failure> {
    let outlet = settings.outlet()?;
    show(&outlet.output).await?;
    Ok(outlet.close()?)
}

/// Opens the selected store; `None` if none was named or discovered.
async fn find_store(place: &StoreOptions) -> Result<Option<Store>> {
    match place.open().await {
        Err(Error::NoStore) => Ok(None),
        found => found.map(Some),
    }
}

async fn session(place: &StoreOptions, store: Option<&Store>) -> Result<LiveSession> {
    let options = place.options(None)?;
    match store {
        Some(store) => open_live_session(store, &options).await,
        None => {
            let nothing = Store::create("memory:").await?;
            open_live_session(&nothing, &options).await
        }
    }
}

/// Runs a future until it completes or Ctrl-C interrupts it.
async fn interruptible<T, E: Into<Failure>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    tokio::select! {
        () = signals::wait_for_interrupt() => Err(Error::Interrupted.into()),
        done = work => done.map_err(Into::into),
    }
}
