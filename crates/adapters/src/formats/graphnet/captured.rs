//! Loads captured graphs from the store.

use std::collections::HashMap;

use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_codecs::graph::{unpack_numbers, unpack_steps};
use tsql_codecs::opgraph::{OpGraph, OpType, unpack_operands, unpack_returns};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::graphnet::sample::Sample;
use tsql_schema::column;

/// A content hash with its graph. The graph is `None` if it cannot be decoded.
pub(super) type CapturedGraph = (String, Option<OpGraph>);

/// Loads the captured graphs that `predicate` (SQL over the stored table) selects, by identifier. Their
/// types contain only the hashed fields: signature and number of outputs.
pub(super) async fn load_graphs(
    context: &SessionContext,
    predicate: &str,
) -> Result<HashMap<i64, CapturedGraph>> {
    let types = load_types(context).await?;
    let sql = format!(
        "SELECT graph_id, workload_key, kind, argument_count, types, type_of_node, edges, returns \
         FROM stored.graphs WHERE argument_count IS NOT NULL AND {predicate}"
    );
    let mut graphs = HashMap::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let arguments = column::numbers::<Int64Type>(&batch, "argument_count")?;
        let (keys, kinds) = (
            column::text(&batch, "workload_key")?,
            column::text(&batch, "kind")?,
        );
        let bytes = |name| column::bytes(&batch, name);
        let (own_types, places) = (bytes("types")?, bytes("type_of_node")?);
        let (edges, returns) = (bytes("edges")?, bytes("returns")?);
        for row in 0..batch.num_rows() {
            let graph = || {
                let type_of_node = unpack_numbers(places.value(row))?;
                let nodes = type_of_node.len();
                let own = unpack_steps(own_types.value(row))?;
                let own = own.iter().map(|id| types.get(id).cloned());
                Some(OpGraph {
                    framework: Sample::framework_by_name(kinds.value(row)),
                    argument_count: u32::try_from(arguments.value(row)).ok()?,
                    types: own.collect::<Option<_>>()?,
                    shape_free: Vec::new(),
                    operands: unpack_operands(edges.value(row), nodes)?,
                    returns: unpack_returns(returns.value(row), nodes)?,
                    type_of_node,
                })
            };
            graphs.insert(ids.value(row), (keys.value(row).to_owned(), graph()));
        }
    }
    Ok(graphs)
}

async fn load_types(context: &SessionContext) -> Result<HashMap<i64, OpType>> {
    let mut types = HashMap::new();
    let sql = "SELECT node_type_id, signature, output_count FROM stored.node_types WHERE signature IS NOT NULL";
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "node_type_id")?;
        let outputs = column::numbers::<Int32Type>(&batch, "output_count")?;
        let signatures = column::text(&batch, "signature")?;
        for row in 0..batch.num_rows() {
            let one = OpType {
                signature: signatures.value(row).to_owned(),
                outputs: outputs.value(row).cast_unsigned(),
                ..OpType::default()
            };
            types.insert(ids.value(row), one);
        }
    }
    Ok(types)
}
