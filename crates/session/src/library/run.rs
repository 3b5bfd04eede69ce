//! Execution of named queries: parameter values, default platforms and their errors.

use arrow::array::AsArray as _;
use arrow::datatypes::DataType;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;
use tsql_dialect::placeholders::bind_placeholders;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_store::Store;

use super::super::SessionOptions;
use super::named_query::{NamedQuery, Parameter};
use crate::open_session_with;

/// The table whose platforms are used.
const RECORDS: &str = "records";

impl NamedQuery {
    /// Runs the query with these values of parameters and these files.
    ///
    /// Files become tables of `context`. Missing values are chosen as in [`NamedQuery::parameter_values`]. Values are
    /// converted to the type that the query compares them with.
    ///
    /// # Errors
    /// [`Error::Argument`] for a missing file or an invalid value; [`Error::Empty`] if the store has too few platforms;
    /// [`Error::Unknown`] for an unknown name or platform; [`Error::Query`] if a file cannot be read.
    pub async fn run(
        &self,
        context: &SessionContext,
        arguments: &[(String, String)],
    ) -> Result<DataFrame> {
        let values = self.parameter_values(context, arguments).await?;
        for (name, doc) in &self.files {
            let Some(path) = last_value(arguments, name) else {
                let own = &self.name;
                let reason = format!("{own} needs a file\nhint: --set {name}=FILE, {doc}");
                return Err(Error::Argument {
                    name: "set",
                    reason,
                });
            };
            let sql = format!("SELECT * FROM '{}'", path.replace('\'', "''"));
            let table = plan_query(context, &sql).await?.into_view();
            context
                .deregister_table(name.as_str())
                .map_err(Error::Query)?;
            context
                .register_table(name.as_str(), table)
                .map_err(Error::Query)?;
        }
        let (state, plan) = plan_query(context, &self.sql).await?.into_parts();
        Ok(DataFrame::new(state, bind_placeholders(plan, &values)?))
    }

    /// Values of all parameters: those of `arguments`, else the defaults, else the platforms with the most records in the
    /// store.
    ///
    /// # Errors
    /// As [`NamedQuery::run`].
    pub async fn parameter_values(
        &self,
        context: &SessionContext,
        arguments: &[(String, String)],
    ) -> Result<Vec<(String, String)>> {
        self.check_names(arguments)?;
        let mut platforms = Vec::new();
        if self.parameters.iter().any(Parameter::is_platform) {
            platforms = self.platforms(context).await?;
        }
        let mut left = platforms.clone();
        for parameter in self.parameters.iter().filter(|one| one.is_platform()) {
            let Some(name) = last_value(arguments, &parameter.name) else {
                continue;
            };
            if !platforms.iter().any(|platform| platform == name) {
                return Err(self.unusable_platform(context, name, platforms).await?);
            }
            left.retain(|platform| platform != name);
        }
        let mut left = left.into_iter();
        let values = self.parameters.iter().map(|parameter| {
            let text = last_value(arguments, &parameter.name).map(str::to_owned);
            let text = text.or_else(|| parameter.default.clone());
            let text = text.or_else(|| left.next());
            let text = text.ok_or_else(|| self.too_few_platforms(&platforms))?;
            Ok((parameter.name.clone(), text))
        });
        values.collect()
    }

    /// Checks the names of the given values.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that the query does not have.
    fn check_names(&self, given: &[(String, String)]) -> Result<()> {
        let parameters = self.parameters.iter();
        let files = self.files.iter().map(|(name, _)| name.as_str());
        let known = parameters.map(|parameter| parameter.name.as_str());
        let known: Vec<&str> = known.chain(files).collect();
        let unknown = |(name, _): &&(String, String)| !known.contains(&name.as_str());
        match given.iter().find(unknown) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => Err(Error::Argument {
                name: "set",
                reason: format!("{} has no parameters, found `{name}`", self.name),
            }),
            Some((name, _)) => Err(Error::Unknown {
                kind: "parameter",
                name: name.clone(),
                known: known.join(", "),
            }),
        }
    }

    /// Error for a store with fewer platforms than the query compares.
    fn too_few_platforms(&self, platforms: &[String]) -> Error {
        let own = &self.name;
        let wanted = self.parameters.iter().filter(|one| one.is_platform());
        let wanted = wanted.count();
        match platforms {
            [] => Error::Empty(format!(
                "{own} needs {}, but the store has none",
                self.platform_rows()
            )),
            _ => Error::Empty(format!(
                "{own} needs {wanted} platforms, but the store has {} of {}",
                self.platform_rows(),
                platforms.join(", ")
            )),
        }
    }

    /// Error for an unusable platform: the store does not have it, or has only other records of it.
    async fn unusable_platform(
        &self,
        context: &SessionContext,
        name: &str,
        mut usable: Vec<String>,
    ) -> Result<Error> {
        usable.sort();
        let mut all = Self::platforms_of(context, RECORDS).await?;
        if !all.iter().any(|known| known == name) {
            all.sort();
            let known = if usable.is_empty() { all } else { usable };
            return Ok(Error::Unknown {
                kind: "platform",
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        let (own, about) = (&self.name, self.platform_rows());
        let hint = match usable.is_empty() {
            true => format!("`tsql queries {own} --sql` shows its conditions"),
            false => format!("platforms with such records: {}", usable.join(", ")),
        };
        Ok(Error::Empty(format!(
            "{own} needs {about}, but platform `{name}` has only other records\nhint: {hint}"
        )))
    }

    /// Description of the rows that determine the platforms.
    fn platform_rows(&self) -> &str {
        let need = self.needs.iter().find(|need| need.is_of_table(RECORDS));
        need.map_or(RECORDS, |need| need.doc.as_str())
    }

    /// Platforms with records that the query can use, by descending number of records.
    async fn platforms(&self, context: &SessionContext) -> Result<Vec<String>> {
        let need = self.needs.iter().find(|need| need.is_of_table(RECORDS));
        let rows = need.map_or(RECORDS, |need| need.rows.as_str());
        Self::platforms_of(context, rows).await
    }

    /// Platforms of these rows of `records`, by descending number of records.
    async fn platforms_of(context: &SessionContext, rows: &str) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT CAST(platform AS VARCHAR) AS platform, CAST(dataset AS VARCHAR) AS dataset, count(*) AS record_count FROM {rows} \
             GROUP BY 1, 2 ORDER BY record_count DESC, platform"
        );
        let mut found = Vec::new();
        for batch in collect(context, &sql).await? {
            let texts = |column: usize| -> Result<Vec<Option<String>>> {
                let texts = arrow::compute::cast(batch.column(column), &DataType::Utf8View);
                let texts = texts.map_err(|error| Error::Query(error.into()))?;
                let texts = texts.as_string_view().iter();
                Ok(texts.map(|text| text.map(str::to_owned)).collect())
            };
            found.extend(texts(0)?.into_iter().zip(texts(1)?));
        }
        // A platform that is compared with the first one has programs of the same dataset.
        let first = found.first().and_then(|(_, dataset)| dataset.clone());
        found.sort_by_key(|(_, dataset)| *dataset != first);
        let mut platforms: Vec<String> = Vec::new();
        for platform in found.into_iter().filter_map(|(platform, _)| platform) {
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        Ok(platforms)
    }
}

/// Platforms of all records of a store, by name.
///
/// # Errors
/// As [`open_session`](crate::open_session).
pub async fn platforms(store: &Store) -> Result<Vec<String>> {
    let options = SessionOptions::default().sql("SELECT platform, dataset FROM records");
    let context = open_session_with(store, &options).await?;
    let mut platforms = NamedQuery::parse("platforms", "")
        .platforms(&context)
        .await?;
    platforms.sort();
    Ok(platforms)
}

impl Parameter {
    /// Returns whether the parameter is a platform of the store.
    #[must_use]
    pub fn is_platform(&self) -> bool {
        self.default.is_none()
    }
}

/// The last value given for a name.
fn last_value<'a>(given: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = given.iter().rev().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of each platform, as many as its position in the list, and one TenSet record.
    async fn of_platforms(platforms: &[&str]) -> SessionContext {
        let context = SessionContext::new();
        let rows = platforms.iter().enumerate().flat_map(|(place, name)| {
            let dataset = if place == 0 { "tenset" } else { "other" };
            vec![format!("('{name}', 1.5, '{dataset}')"); place + 1]
        });
        let sql = format!(
            "CREATE VIEW records AS SELECT * FROM (VALUES {}) AS v(platform, ns, dataset)",
            rows.collect::<Vec<_>>().join(", ")
        );
        context.sql(&sql).await.unwrap().collect().await.unwrap();
        context
    }

    async fn run_with_platforms(
        platforms: &[&str],
        text: &str,
        given: &[(&str, &str)],
    ) -> Result<usize> {
        let context = of_platforms(platforms).await;
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let given: Vec<_> = given.collect();
        let frame = NamedQuery::parse("q", text).run(&context, &given).await?;
        frame.count().await.map_err(Error::Query)
    }

    const ONE: &str = "-- One.\n-- platform p : where\nSELECT * FROM records WHERE platform = $p";
    const TWO: &str = "-- Two.\n-- platform p : from\n-- platform q : to\nSELECT DISTINCT platform FROM records WHERE platform IN ($p, $q)";

    #[tokio::test]
    async fn a_platform_is_given_or_the_one_with_most_records() {
        assert_eq!(run_with_platforms(&["100"], ONE, &[]).await.unwrap(), 1);
        assert_eq!(
            run_with_platforms(&["100", "a"], ONE, &[("p", "100")])
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            run_with_platforms(&["a", "b", "c"], ONE, &[])
                .await
                .unwrap(),
            3
        );
        let unknown = run_with_platforms(&["a", "b"], ONE, &[("p", "c")])
            .await
            .unwrap_err();
        let unknown = unknown.to_string();
        assert!(
            unknown.contains("no platform named `c`\nhint: there are a, b"),
            "{unknown}"
        );
        let few = "-- One.\n-- platform p : where\n-- needs records WHERE ns > 9 : slow records\nSELECT $p AS p";
        let none = run_with_platforms(&["x86", "k80"], few, &[("p", "x68")])
            .await
            .unwrap_err();
        let none = none.to_string();
        assert!(none.ends_with("`x68`\nhint: did you mean `x86`?"), "{none}");
        let other = run_with_platforms(&["a", "b"], few, &[("p", "b")])
            .await
            .unwrap_err();
        let other = other.to_string();
        assert!(
            other.contains("q needs slow records, but platform `b` has only other records"),
            "{other}"
        );
        let needs = "-- One.\n-- platform p : where\n-- needs records WHERE dataset = 'tenset' : records of TenSet\nSELECT $p AS p";
        let context = of_platforms(&["a", "b"]).await;
        let values = NamedQuery::parse("q", needs)
            .parameter_values(&context, &[])
            .await;
        assert_eq!(values.unwrap(), [("p".to_owned(), "a".to_owned())]);
        // It belongs to another dataset than the first one, although it has more records than the last one.
        let context = of_platforms(&["tensets", "few", "most"]).await;
        let values = NamedQuery::parse("q", TWO)
            .parameter_values(&context, &[])
            .await
            .unwrap();
        let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["most", "few"]);
    }

    #[tokio::test]
    async fn two_platforms_are_two() {
        assert_eq!(run_with_platforms(&["a", "b"], TWO, &[]).await.unwrap(), 2);
        assert_eq!(
            run_with_platforms(&["a", "b"], TWO, &[("q", "a")])
                .await
                .unwrap(),
            2
        );
        assert_eq!(
            run_with_platforms(&["a", "b", "c"], TWO, &[("q", "c")])
                .await
                .unwrap(),
            2
        );
        let few = run_with_platforms(&["a"], TWO, &[])
            .await
            .unwrap_err()
            .to_string();
        assert_eq!(few, "q needs 2 platforms, but the store has records of a");
    }

    #[tokio::test]
    async fn values_take_the_type_that_is_compared() {
        let number = "-- N.\n-- parameter n = 1 : more than\nSELECT * FROM records WHERE ns > $n";
        assert_eq!(
            run_with_platforms(&["a", "b"], number, &[]).await.unwrap(),
            3
        );
        assert_eq!(
            run_with_platforms(&["a", "b"], number, &[("n", "1.75")])
                .await
                .unwrap(),
            0
        );
        let wrong = run_with_platforms(&["a"], number, &[("n", "x")])
            .await
            .unwrap_err();
        assert!(matches!(wrong, Error::Argument { .. }), "{wrong}");
        let text = "-- T.\n-- parameter t = 100 : name\nSELECT * FROM records WHERE platform = $t";
        assert_eq!(
            run_with_platforms(&["a100", "100"], text, &[])
                .await
                .unwrap(),
            2
        );
        assert_eq!(
            run_with_platforms(&["1e3", "1000"], text, &[("t", "1e3")])
                .await
                .unwrap(),
            1
        );
        let limit = "-- L.\n-- parameter l = 1 : rows\nSELECT * FROM records LIMIT $l";
        assert_eq!(
            run_with_platforms(&["a", "b"], limit, &[]).await.unwrap(),
            1
        );
        assert!(
            run_with_platforms(&["a"], limit, &[("m", "1")])
                .await
                .is_err()
        );
    }
}
