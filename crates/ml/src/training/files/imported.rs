//! Features that another program computed, as rows of `features`.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;

/// A version of an imported feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportedFeature {
    pub(super) name: String,
    pub(super) version: i64,
    /// Number of elements of each row.
    count: i64,
}

impl ImportedFeature {
    /// Finds a feature by name: `NAME@VERSION`, or `NAME` for the newest version. `others` are the built-in
    /// features, for the error.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none.
    pub(super) async fn find(
        context: &SessionContext,
        asked: &str,
        others: Vec<&str>,
    ) -> Result<Self> {
        let sql = "SELECT name, version, max(array_length(numbers)) AS count FROM \
                   (SELECT arrow_cast(name, 'Utf8View') AS name, version, numbers FROM features) AS f \
                   GROUP BY name, version ORDER BY name, version";
        let mut known = Vec::new();
        for batch in collect(context, sql).await? {
            let names = column::text(&batch, "name")?;
            let versions = column::numbers::<Int64Type>(&batch, "version")?;
            let counts = arrow::compute::cast(batch.column(2), &arrow::datatypes::DataType::Int64);
            let counts = counts.map_err(|error| Error::Query(error.into()))?;
            let counts = arrow::array::AsArray::as_primitive::<Int64Type>(&counts);
            known.extend((0..batch.num_rows()).map(|row| Self {
                name: names.value(row).to_owned(),
                version: versions.value(row),
                count: counts.value(row),
            }));
        }
        let (name, version) = match asked.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (asked, None),
        };
        let is_it = |one: &&Self| {
            let is_version = version.is_none_or(|version| one.version.to_string() == version);
            one.name == name && is_version
        };
        let found = known.iter().rev().find(is_it).cloned();
        found.ok_or_else(|| {
            let others = others.into_iter().map(str::to_owned);
            let all: Vec<String> = others.chain(known.iter().map(Self::full_name)).collect();
            Error::Unknown {
                kind: "feature",
                name: asked.to_owned(),
                known: all.join(", "),
            }
        })
    }

    /// `NAME@VERSION`.
    pub(super) fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Returns the SQL that selects its values.
    pub(super) fn sql(&self) -> String {
        format!(
            "SELECT config_key, numbers FROM features WHERE name = '{}' AND version = {}",
            self.name, self.version
        )
    }

    /// Returns the SQL of a join with rows `l` by key: a relation `alias` with lists of fixed size.
    pub(super) fn join_sql(&self, alias: &str) -> String {
        format!(
            " LEFT JOIN (SELECT config_key AS of_key, arrow_cast(numbers, 'FixedSizeList({} x Float32)') AS {} FROM ({}) AS f) \
             AS {alias} ON {alias}.of_key = l.config_key",
            self.count,
            self.name,
            self.sql()
        )
    }

    /// Returns the names of the elements: `NAME[INDEX]`.
    pub(super) fn elements(&self) -> Vec<String> {
        let places = 0..self.count;
        places
            .map(|place| format!("{}[{place}]", self.name))
            .collect()
    }
}
