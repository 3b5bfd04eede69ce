//! Edges of a stored graph of either kind, for functions that traverse them.

use arrow::array::{Array as _, ArrayRef, BinaryViewArray, Int64Array};
use datafusion::common::cast::{as_binary_view_array, as_int64_array};
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::graph::unpack_edges;
use tsql_codecs::opgraph::{Operand, unpack_operands};
use tsql_graphs::{Neighbours, NodeInput};

use super::scalar::argument;

/// Documentation of the argument `edges`.
pub(super) const EDGES_DOC: &str = "packed edges, as in `stored.graphs.edges`";

/// Documentation of the argument `node_count`.
pub(super) const NODE_COUNT_DOC: &str = "number of nodes of the graph";

/// Documentation of the argument `argument_count`.
pub(super) const ARGUMENT_COUNT_DOC: &str =
    "`argument_count` of the graph, which determines how its edges are packed; NULL for TpuGraphs";

/// Three columns of graphs: `edges`, `node_count` and `argument_count`.
pub(super) struct GraphColumns<'a> {
    edges: &'a BinaryViewArray,
    node_counts: &'a Int64Array,
    /// `None` if all graphs are from TpuGraphs.
    argument_counts: Option<&'a Int64Array>,
}

impl<'a> GraphColumns<'a> {
    /// Reads the first two arguments of a function, and the third one if it is `argument_count`.
    pub(super) fn from_args(args: &'a [ArrayRef], has_argument_counts: bool) -> Result<Self> {
        let third = || as_int64_array(argument(args, 2)?);
        Ok(Self {
            edges: as_binary_view_array(argument(args, 0)?)?,
            node_counts: as_int64_array(argument(args, 1)?)?,
            argument_counts: has_argument_counts.then(third).transpose()?,
        })
    }

    /// Number of graphs.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Operands of each node of a graph, in order; `None` if the row has no graph.
    pub(super) fn node_uses(&self, row: usize) -> Result<Option<Vec<Vec<NodeInput>>>> {
        if self.edges.is_null(row) || self.node_counts.is_null(row) {
            return Ok(None);
        }
        let damaged = || exec_datafusion_err!("graphs: damaged edges");
        let nodes = usize::try_from(self.node_counts.value(row)).map_err(|_| damaged())?;
        let packed = self.edges.value(row);
        let captured = self
            .argument_counts
            .is_some_and(|counts| counts.is_valid(row));
        if captured {
            let operands = unpack_operands(packed, nodes).ok_or_else(damaged)?;
            let of_node = |own: Vec<Operand>| {
                let uses = own.into_iter().map(|operand| match operand {
                    Operand::Node(node, output) => Some((node, output)),
                    Operand::Argument(_) => None,
                });
                uses.collect()
            };
            return Ok(Some(operands.into_iter().map(of_node).collect()));
        }
        let edges = unpack_edges(packed, nodes).ok_or_else(damaged)?;
        let mut uses = vec![Vec::new(); nodes];
        for (user, operand) in edges {
            let own = uses.get_mut(user as usize).ok_or_else(damaged)?;
            own.push(Some((operand, 0)));
        }
        Ok(Some(uses))
    }

    /// Neighbours of each node of a graph.
    pub(super) fn neighbours(&self, row: usize) -> Result<Option<Neighbours>> {
        let Some(uses) = self.node_uses(row)? else {
            return Ok(None);
        };
        let of_user = |(user, own): (u32, &Vec<NodeInput>)| {
            let nodes = own.clone().into_iter().flatten();
            nodes.map(move |(operand, _)| (user, operand))
        };
        let edges: Vec<(u32, u32)> = (0_u32..).zip(&uses).flat_map(of_user).collect();
        let made = Neighbours::from_edges(uses.len(), &edges);
        made.map(Some)
            .map_err(|reason| exec_datafusion_err!("graphs: {reason}"))
    }
}
