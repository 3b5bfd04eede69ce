//! The edges of a stored graph of either kind, for functions that follow them.

use arrow::array::{Array as _, ArrayRef, BinaryViewArray, Int64Array};
use datafusion::common::cast::{as_binary_view_array, as_int64_array};
use datafusion::common::{Result, exec_datafusion_err};
use tsql_codecs::graph::unpack_edges;
use tsql_codecs::opgraph::{Operand, unpack_operands};
use tsql_graphs::{Neighbours, Use};

use super::scalar::argument;

/// What is said of the column `edges`.
pub(super) const EDGES: &str = "the edges, packed, as `stored.graphs.edges`";

/// What is said of the column `node_count`.
pub(super) const NODE_COUNT: &str = "how many nodes the graph has";

/// What is said of the column `argument_count`.
pub(super) const ARGUMENT_COUNT: &str =
    "`argument_count` of the graph, which says how its edges are packed: NULL in TpuGraphs";

/// Three columns of graphs: `edges`, `node_count` and `argument_count`.
pub(super) struct Columns<'a> {
    edges: &'a BinaryViewArray,
    node_counts: &'a Int64Array,
    /// `None` where all are graphs of TpuGraphs.
    argument_counts: Option<&'a Int64Array>,
}

impl<'a> Columns<'a> {
    /// The first two arguments of a function, and the third where that is `argument_count`.
    pub(super) fn of(args: &'a [ArrayRef], has_argument_counts: bool) -> Result<Self> {
        let third = || as_int64_array(argument(args, 2)?);
        Ok(Self {
            edges: as_binary_view_array(argument(args, 0)?)?,
            node_counts: as_int64_array(argument(args, 1)?)?,
            argument_counts: has_argument_counts.then(third).transpose()?,
        })
    }

    /// How many graphs there are.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// What each node of a graph consumes, in order; `None` for a graph without any.
    pub(super) fn uses(&self, row: usize) -> Result<Option<Vec<Vec<Use>>>> {
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

    /// The neighbours of each node of a graph.
    pub(super) fn neighbours(&self, row: usize) -> Result<Option<Neighbours>> {
        let Some(uses) = self.uses(row)? else {
            return Ok(None);
        };
        let of_user = |(user, own): (u32, &Vec<Use>)| {
            let nodes = own.clone().into_iter().flatten();
            nodes.map(move |(operand, _)| (user, operand))
        };
        let edges: Vec<(u32, u32)> = (0_u32..).zip(&uses).flat_map(of_user).collect();
        let made = Neighbours::of(uses.len(), &edges);
        made.map(Some)
            .map_err(|reason| exec_datafusion_err!("graphs: {reason}"))
    }
}
