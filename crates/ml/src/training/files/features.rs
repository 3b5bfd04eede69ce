//! Features of training rows, by name.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{ElementNames, function};

use super::imported::ImportedFeature;
use super::keys::OF_RECORDS;

/// Source of the values of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An expression over the program of a row: `steps`.
    Steps,
    /// An expression over the graph of a row: `workload_key`.
    Key,
    /// An aggregate over the nodes of a graph of TpuGraphs.
    Nodes,
    /// An aggregate over the operations of a sample of GraphNet, whose run a row is.
    Operations,
    /// An aggregate over its weights and inputs.
    Tensors,
}

/// Definition of a built-in feature.
pub(super) struct FeatureDefinition {
    name: &'static str,
    /// Increased when the values of the same row change.
    version: u32,
    from: Origin,
    sql: &'static str,
    function: &'static str,
    /// Variant of the function's elements.
    of: &'static str,
}

const DEFINITIONS: [FeatureDefinition; 10] = [
    program_feature(
        "schedule_numbers",
        "schedule_numbers(steps)",
        "schedule_numbers",
        "",
    ),
    program_feature(
        "tlp_tokens:llvm",
        "tlp_tokens(steps, 'llvm')",
        "tlp_tokens",
        "llvm",
    ),
    program_feature(
        "tlp_tokens:cuda",
        "tlp_tokens(steps, 'cuda')",
        "tlp_tokens",
        "cuda",
    ),
    FeatureDefinition {
        name: "workload_shape",
        version: 1,
        from: Origin::Key,
        sql: "workload_shape(workload_key)",
        function: "workload_shape",
        of: "",
    },
    aggregated_feature("op_histogram", Origin::Nodes, "op_histogram(opcode)"),
    aggregated_feature(
        "node_features_sum",
        Origin::Nodes,
        "node_features_sum(features)",
    ),
    aggregated_feature(
        "node_features_mean",
        Origin::Nodes,
        "node_features_mean(features)",
    ),
    aggregated_feature(
        "node_features_max",
        Origin::Nodes,
        "node_features_max(features)",
    ),
    aggregated_feature(
        "graphnet_op_histogram",
        Origin::Operations,
        "graphnet_op_histogram(op)",
    ),
    aggregated_feature(
        "graphnet_tensor_histogram",
        Origin::Tensors,
        "graphnet_tensor_histogram(kind, dtype, shape)",
    ),
];

const fn program_feature(
    name: &'static str,
    sql: &'static str,
    function: &'static str,
    of: &'static str,
) -> FeatureDefinition {
    FeatureDefinition {
        name,
        version: 1,
        from: Origin::Steps,
        sql,
        function,
        of,
    }
}

const fn aggregated_feature(
    name: &'static str,
    from: Origin,
    sql: &'static str,
) -> FeatureDefinition {
    FeatureDefinition {
        name,
        version: 1,
        from,
        sql,
        function: name,
        of: "",
    }
}

/// A requested feature.
#[derive(Clone)]
pub(super) enum Feature {
    /// A built-in feature.
    Computed(&'static FeatureDefinition),
    /// A feature computed by another program.
    Imported(ImportedFeature),
}

impl Feature {
    /// Parses feature names. `tlp_tokens` is the variant for the kind of target of the records. `NAME` of an
    /// imported feature is its newest version, `NAME@VERSION` any.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown name; [`Error::Argument`] for a duplicate name, and for `tlp_tokens`
    /// of records of several kinds of targets, whose lists differ in size.
    pub(super) async fn parse_names(
        names: &[String],
        context: &SessionContext,
        predicate: &str,
    ) -> Result<Vec<Self>> {
        let mut features: Vec<Self> = Vec::new();
        for asked in names {
            let name = match asked.as_str() {
                "tlp_tokens" => format!("tlp_tokens:{}", target_kind(context, predicate).await?),
                other => other.to_owned(),
            };
            let feature = match DEFINITIONS.iter().find(|known| known.name == name) {
                Some(known) => Self::Computed(known),
                None => {
                    let own = DEFINITIONS.iter().map(|known| known.name);
                    let own = ["tlp_tokens"].into_iter().chain(own).collect();
                    Self::Imported(ImportedFeature::find(context, asked, own).await?)
                }
            };
            let column = feature.column();
            let wrong = |reason: String| {
                let name = "features";
                Err(Error::Argument { name, reason })
            };
            if features.iter().any(|one| one.column() == column) {
                return wrong(format!("`{column}` is given twice"));
            }
            if is_reserved(column) {
                return wrong(format!(
                    "`{column}` is the name of another column\n\
                     hint: use another name in `tsql import features`"
                ));
            }
            features.push(feature);
        }
        Ok(features)
    }

    /// Returns the name, with the version of an imported feature.
    pub(super) fn full_name(&self) -> String {
        match self {
            Self::Computed(known) => known.name.to_owned(),
            Self::Imported(imported) => imported.full_name(),
        }
    }

    /// Returns the name of the output column.
    pub(super) fn column(&self) -> &str {
        match self {
            Self::Computed(known) => known.function,
            Self::Imported(imported) => &imported.name,
        }
    }

    /// Returns the version of the definition.
    pub(super) fn version(&self) -> u32 {
        match self {
            Self::Computed(known) => known.version,
            Self::Imported(imported) => u32::try_from(imported.version).unwrap_or(u32::MAX),
        }
    }

    /// Returns the SQL: an expression over the source columns, or an aggregate.
    pub(super) fn sql(&self) -> String {
        match self {
            Self::Computed(known) => known.sql.to_owned(),
            Self::Imported(imported) => imported.sql(),
        }
    }

    /// Returns true if it is computed from a row's program, whose text is large.
    pub(super) fn is_of_program(&self) -> bool {
        self.origin() == Some(Origin::Steps)
    }

    /// Returns true if it is computed from this source.
    pub(super) fn is_from(&self, origin: Origin) -> bool {
        self.origin() == Some(origin)
    }

    /// Returns true if it is a column of the sorted rows, and not computed from them.
    pub(super) fn is_gathered(&self) -> bool {
        !matches!(self.origin(), Some(Origin::Steps | Origin::Key))
    }

    /// Returns the imported feature, if it is one.
    pub(super) fn as_imported(&self) -> Option<&ImportedFeature> {
        match self {
            Self::Computed(_) => None,
            Self::Imported(imported) => Some(imported),
        }
    }

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::Computed(known) => Some(known.from),
            Self::Imported(_) => None,
        }
    }

    /// Returns the names of its elements.
    pub(super) fn elements(&self) -> Result<Vec<String>> {
        match self {
            Self::Computed(known) => {
                let elements = function(known.function)?.elements.into_iter();
                let mut own = elements.filter(|one: &ElementNames| one.argument_value == known.of);
                Ok(own.next().map(|one| one.names).unwrap_or_default())
            }
            Self::Imported(imported) => Ok(imported.elements()),
        }
    }
}

/// Returns true if the name is a column of every file or of the export query.
fn is_reserved(column: &str) -> bool {
    let own = [
        "query",
        "part",
        "failed",
        "label",
        "relevance",
        "weight",
        "status",
        "workload_key",
        "of_key",
    ];
    OF_RECORDS.contains(&column) || own.contains(&column) || column.starts_with("group_")
}

/// Error for an empty selection.
pub(super) fn no_records(predicate: &str) -> Error {
    Error::Empty(format!(
        "no record matches `{predicate}`\nhint: `tsql queries platform-summary` shows existing records"
    ))
}

/// Returns the kind of target of all records.
async fn target_kind(context: &SessionContext, predicate: &str) -> Result<String> {
    let sql = format!(
        "SELECT arrow_cast(e.target_kind, 'Utf8View') AS target_kind, count(*) AS records FROM \
         (SELECT environment_id AS of_id FROM records WHERE ({predicate})) AS r \
         JOIN environments AS e ON e.environment_id = r.of_id GROUP BY 1 ORDER BY 1"
    );
    let mut kinds = Vec::new();
    for batch in collect(context, &sql).await? {
        let names = column::text(&batch, "target_kind")?;
        let counts = column::numbers::<Int64Type>(&batch, "records")?;
        for row in 0..batch.num_rows() {
            let kind = column::text_at(names, row).unwrap_or("none");
            kinds.push((kind.to_owned(), counts.value(row)));
        }
    }
    match kinds.as_slice() {
        [(kind, _)] => Ok(kind.clone()),
        [] => Err(no_records(predicate)),
        several => {
            let told = several
                .iter()
                .map(|(kind, count)| format!("{kind} ({count} records)"));
            let told: Vec<String> = told.collect();
            Err(Error::Argument {
                name: "features",
                reason: format!(
                    "the size of tlp_tokens depends on the kind of target, and there are several: \
                     {}\n\
                     hint: select one with --where, or use tlp_tokens:llvm or tlp_tokens:cuda for \
                     all",
                    told.join(", ")
                ),
            })
        }
    }
}
