//! Mappings of tables to the model.
//!
//! A mapping is TOML:
//!
//! ```toml
//! kernel_column = "OPName"        # or kernel = "name"
//! problem = ["B", "H"]
//! configuration = ["Kernel Name"]
//! platform_column = "Device"      # or platform = "name"
//! time_column = "Latency"
//! time_unit = "ms"                # or time_unit_column = "Metric Unit"
//! [metrics]
//! "Grid x" = "1"                  # column = unit
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::quantity::TimeUnit;

/// Role of a column in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRole {
    /// Name of the kernel.
    Kernel,
    /// Part of the problem.
    Problem,
    /// Part of the configuration.
    Configuration,
    /// Name of the platform.
    Platform,
    /// The time.
    Time,
    /// Unit of the row's time.
    TimeUnit,
    /// A metric.
    Metric(MetricColumn),
    /// Stored as an attribute.
    Attribute,
}

/// A metric's column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricColumn {
    /// Unit of the values.
    pub unit: String,
}

/// Mapping of the columns of a table. Columns that it does not name become attributes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mapping {
    /// Kernel of all rows.
    pub kernel: Option<String>,
    /// Column of the kernel.
    pub kernel_column: Option<String>,
    /// Columns of the problem. Empty cells are left out.
    pub problem: Vec<String>,
    /// Columns of the configuration.
    pub configuration: Vec<String>,
    /// Platform of all rows.
    pub platform: Option<String>,
    /// Column of the platform.
    pub platform_column: Option<String>,
    /// Column of the time.
    pub time_column: String,
    /// Unit of the time: `s`, `ms`, `us` or `ns`.
    pub time_unit: Option<String>,
    /// Column of the unit of the time.
    pub time_unit_column: Option<String>,
    /// Only rows in which each of these columns has this text are trials; others are passed.
    pub only: BTreeMap<String, String>,
    /// Metrics: column and unit.
    pub metrics: BTreeMap<String, String>,
    /// Separator of thousands in numbers, such as `,`.
    pub thousands: Option<String>,
    /// Lines with this prefix are passed and become settings of the document, such as `==`.
    pub comment_prefix: Option<String>,
}

impl Mapping {
    /// Parses a mapping.
    ///
    /// # Errors
    /// The text is no TOML, has an unknown key, or lacks the time or its unit.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mapping: Self =
            toml::from_str(text).map_err(|error| Error::Mapping(error.message().to_owned()))?;
        if mapping.time_column.is_empty() {
            return Err(Error::Mapping("`time_column` is missing".to_owned()));
        }
        match (&mapping.time_unit, &mapping.time_unit_column) {
            (Some(unit), _) if TimeUnit::parse(unit).is_none() => {
                Err(Error::Mapping(format!("`{unit}` is not s, ms, us or ns")))
            }
            (None, None) => {
                let reason = "`time_unit` or `time_unit_column` is missing";
                Err(Error::Mapping(reason.to_owned()))
            }
            _ => Ok(mapping),
        }
    }

    /// Role of a column by its name.
    #[must_use]
    pub fn role(&self, column: &str) -> ColumnRole {
        let is = |name: &Option<String>| name.as_deref() == Some(column);
        if column == self.time_column {
            ColumnRole::Time
        } else if is(&self.kernel_column) {
            ColumnRole::Kernel
        } else if is(&self.platform_column) {
            ColumnRole::Platform
        } else if is(&self.time_unit_column) {
            ColumnRole::TimeUnit
        } else if self.problem.iter().any(|name| name == column) {
            ColumnRole::Problem
        } else if self.configuration.iter().any(|name| name == column) {
            ColumnRole::Configuration
        } else if let Some(unit) = self.metrics.get(column) {
            ColumnRole::Metric(MetricColumn { unit: unit.clone() })
        } else {
            ColumnRole::Attribute
        }
    }
}
