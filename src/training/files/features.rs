//! The features that rows for training can have, by name.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use crate::column;
use crate::error::{Error, Result};
use crate::query::{Elements, collect, function};

/// Where the values of a feature come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// An expression over the program of a row: `steps`.
    Steps,
    /// An expression over the graph of a row: `workload_key`.
    Key,
    /// An aggregate over the nodes of a graph of TpuGraphs.
    Nodes,
}

/// How a feature is computed.
struct Known {
    name: &'static str,
    /// Rises when the same row gets other numbers.
    version: u32,
    from: Origin,
    sql: &'static str,
    function: &'static str,
    /// Which of its function's elements it has.
    of: &'static str,
}

const KNOWN: [Known; 8] = [
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
    of_nodes("op_histogram", "op_histogram(opcode)"),
    of_nodes("node_features_sum", "node_features_sum(features)"),
    of_nodes("node_features_mean", "node_features_mean(features)"),
    of_nodes("node_features_max", "node_features_max(features)"),
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

const fn of_nodes(name: &'static str, sql: &'static str) -> Known {
    Known {
        name,
        version: 1,
        from: Origin::Nodes,
        sql,
        function: name,
        of: "",
    }
}

/// A feature that was asked for.
#[derive(Clone, Copy)]
pub(super) struct Feature(&'static Known);

impl Feature {
    /// The features of these names. `tlp_tokens` is the one for the kind of target that the records are for.
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
        for name in names {
            let name = match name.as_str() {
                "tlp_tokens" => format!("tlp_tokens:{}", kind(context, predicate).await?),
                other => other.to_owned(),
            };
            let known = KNOWN.iter().find(|known| known.name == name);
            let feature = Self(known.ok_or_else(|| Error::Unknown {
                kind: "feature",
                name: name.clone(),
                known: format!("tlp_tokens, {}", KNOWN.map(|known| known.name).join(", ")),
            })?);
            if features.iter().any(|one| one.column() == feature.column()) {
                return Err(Error::Argument {
                    name: "features",
                    reason: format!("`{}` was named twice", feature.column()),
                });
            }
            features.push(feature);
        }
        Ok(features)
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.0.name
    }

    /// The column that it becomes.
    pub(super) fn column(&self) -> &'static str {
        self.0.function
    }

    /// Of which definition.
    pub(super) fn version(&self) -> u32 {
        self.0.version
    }

    /// As SQL has it.
    pub(super) fn sql(&self) -> &'static str {
        self.0.sql
    }

    /// Does it follow from a row's program, whose text is large?
    pub(super) fn is_of_program(&self) -> bool {
        self.0.from == Origin::Steps
    }

    /// Is it gathered from the nodes of a graph?
    pub(super) fn is_of_nodes(&self) -> bool {
        self.0.from == Origin::Nodes
    }

    /// The names of its elements.
    pub(super) fn elements(&self) -> Result<Vec<String>> {
        let elements = function(self.0.function)?.elements.into_iter();
        let mut own = elements.filter(|one: &Elements| one.of == self.0.of);
        Ok(own.next().map(|one| one.names).unwrap_or_default())
    }
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
