//! The features that rows for training can have, by name.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use super::imported::Imported;
use super::keys::OF_RECORDS;
use crate::column;
use crate::error::{Error, Result};
use crate::query::{Elements, collect, function};

/// Where the values of a feature come from.
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
    /// One over its weights and inputs.
    Tensors,
}

/// How a feature is computed.
pub(super) struct Known {
    name: &'static str,
    /// Rises when the same row gets other numbers.
    version: u32,
    from: Origin,
    sql: &'static str,
    function: &'static str,
    /// Which of its function's elements it has.
    of: &'static str,
}

const KNOWN: [Known; 10] = [
    of_program(
        "schedule_numbers",
        "schedule_numbers(steps)",
        "schedule_numbers",
        "",
    ),
    of_program(
        "tlp_tokens:llvm",
        "tlp_tokens(steps, 'llvm')",
        "tlp_tokens",
        "llvm",
    ),
    of_program(
        "tlp_tokens:cuda",
        "tlp_tokens(steps, 'cuda')",
        "tlp_tokens",
        "cuda",
    ),
    Known {
        name: "workload_shape",
        version: 1,
        from: Origin::Key,
        sql: "workload_shape(workload_key)",
        function: "workload_shape",
        of: "",
    },
    gathered("op_histogram", Origin::Nodes, "op_histogram(opcode)"),
    gathered(
        "node_features_sum",
        Origin::Nodes,
        "node_features_sum(features)",
    ),
    gathered(
        "node_features_mean",
        Origin::Nodes,
        "node_features_mean(features)",
    ),
    gathered(
        "node_features_max",
        Origin::Nodes,
        "node_features_max(features)",
    ),
    gathered(
        "graphnet_op_histogram",
        Origin::Operations,
        "graphnet_op_histogram(op)",
    ),
    gathered(
        "graphnet_tensor_histogram",
        Origin::Tensors,
        "graphnet_tensor_histogram(kind, dtype, shape)",
    ),
];

const fn of_program(
    name: &'static str,
    sql: &'static str,
    function: &'static str,
    of: &'static str,
) -> Known {
    Known {
        name,
        version: 1,
        from: Origin::Steps,
        sql,
        function,
        of,
    }
}

const fn gathered(name: &'static str, from: Origin, sql: &'static str) -> Known {
    Known {
        name,
        version: 1,
        from,
        sql,
        function: name,
        of: "",
    }
}

/// A feature that was asked for.
#[derive(Clone)]
pub(super) enum Feature {
    /// One that is computed here.
    Computed(&'static Known),
    /// One that another program computed.
    Imported(Imported),
}

impl Feature {
    /// The features of these names. `tlp_tokens` is the one for the kind of target that the records are for; `NAME` of imported ones
    /// is their newest version, `NAME@VERSION` any.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that none has; [`Error::Argument`] for one that was named twice, and for `tlp_tokens` of
    /// records of several kinds, whose lists differ in size.
    pub(super) async fn all(
        names: &[String],
        context: &SessionContext,
        predicate: &str,
    ) -> Result<Vec<Self>> {
        let mut features: Vec<Self> = Vec::new();
        for asked in names {
            let name = match asked.as_str() {
                "tlp_tokens" => format!("tlp_tokens:{}", kind(context, predicate).await?),
                other => other.to_owned(),
            };
            let feature = match KNOWN.iter().find(|known| known.name == name) {
                Some(known) => Self::Computed(known),
                None => {
                    let own = KNOWN.iter().map(|known| known.name);
                    let own = ["tlp_tokens"].into_iter().chain(own).collect();
                    Self::Imported(Imported::find(context, asked, own).await?)
                }
            };
            let column = feature.column();
            let wrong = |reason: String| {
                let name = "features";
                Err(Error::Argument { name, reason })
            };
            if features.iter().any(|one| one.column() == column) {
                return wrong(format!("`{column}` was named twice"));
            }
            if is_taken(column) {
                return wrong(format!(
                    "`{column}` is another column here\nhint: `tsql import features` under another name"
                ));
            }
            features.push(feature);
        }
        Ok(features)
    }

    /// Its name, and its version where it is one of several.
    pub(super) fn full_name(&self) -> String {
        match self {
            Self::Computed(known) => known.name.to_owned(),
            Self::Imported(imported) => imported.full_name(),
        }
    }

    /// The column that it becomes.
    pub(super) fn column(&self) -> &str {
        match self {
            Self::Computed(known) => known.function,
            Self::Imported(imported) => &imported.name,
        }
    }

    /// Of which definition.
    pub(super) fn version(&self) -> u32 {
        match self {
            Self::Computed(known) => known.version,
            Self::Imported(imported) => u32::try_from(imported.version).unwrap_or(u32::MAX),
        }
    }

    /// As SQL has it: over the columns that it follows from, or over those that it is gathered from.
    pub(super) fn sql(&self) -> String {
        match self {
            Self::Computed(known) => known.sql.to_owned(),
            Self::Imported(imported) => imported.sql(),
        }
    }

    /// Does it follow from a row's program, whose text is large?
    pub(super) fn is_of_program(&self) -> bool {
        self.origin() == Some(Origin::Steps)
    }

    /// Is it gathered from such rows of other tables?
    pub(super) fn is_from(&self, origin: Origin) -> bool {
        self.origin() == Some(origin)
    }

    /// Is it a column of the rows that are sorted, and not computed of them?
    pub(super) fn is_gathered(&self) -> bool {
        !matches!(self.origin(), Some(Origin::Steps | Origin::Key))
    }

    /// The one that was imported.
    pub(super) fn imported(&self) -> Option<&Imported> {
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

    /// The names of its elements.
    pub(super) fn elements(&self) -> Result<Vec<String>> {
        match self {
            Self::Computed(known) => {
                let elements = function(known.function)?.elements.into_iter();
                let mut own = elements.filter(|one: &Elements| one.of == known.of);
                Ok(own.next().map(|one| one.names).unwrap_or_default())
            }
            Self::Imported(imported) => Ok(imported.elements()),
        }
    }
}

/// Has every file a column of this name, or the question that it is written from?
fn is_taken(column: &str) -> bool {
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

/// Nothing was chosen.
pub(super) fn nothing(predicate: &str) -> Error {
    Error::Empty(format!(
        "no record matches `{predicate}`\nhint: `tsql queries platform-summary` shows what there is"
    ))
}

/// The kind of target that all records are for.
async fn kind(context: &SessionContext, predicate: &str) -> Result<String> {
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
        [] => Err(nothing(predicate)),
        several => {
            let told = several
                .iter()
                .map(|(kind, count)| format!("{kind} ({count} records)"));
            let told: Vec<String> = told.collect();
            Err(Error::Argument {
                name: "features",
                reason: format!(
                    "tlp_tokens has another size for each kind of target, and these are several: {}\nhint: choose one with --where, \
                     or name tlp_tokens:llvm or tlp_tokens:cuda for all",
                    told.join(", ")
                ),
            })
        }
    }
}
