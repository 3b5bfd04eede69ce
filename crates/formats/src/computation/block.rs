//! A block of TIR that computes one tensor.

use std::collections::HashMap;

use ahash::RandomState;

use super::reader::{Axes, Reader, name_axes, source};
use super::spelling::{DATA_PARALLEL, REDUCED, dtype, iterated, kind, not_a, whole, without};
use super::stage::{Reduction, Tensor, Tensors, stage_text};
use crate::tvm_json::{At, Error};

/// A loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// The place of its variable.
    pub(super) variable: usize,
    /// How often it runs.
    pub(super) extent: i64,
}

/// Axes of a block: the places of their variables, and how far they go.
#[derive(Default)]
struct Iterated {
    spatial: HashMap<usize, i64, RandomState>,
    reduced: Vec<(usize, i64)>,
}

/// The text of what a block in these loops computes of a tensor, from others that are there.
///
/// # Errors
/// Whatever is not understood: axes that are not just loops, several statements, tensors written in part.
pub(super) fn stage<'a>(
    reader: &mut Reader<'a>,
    loops: &[Loop],
    realized: At<'a>,
    tensor: &Tensor,
    there: &Tensors,
) -> Result<String, Error> {
    let block = realized.follow_to("block")?;
    without(block, &["match_buffers", "alloc_buffers"])?;
    if whole(realized.follow_to("predicate")?)? != 1 {
        return Err(not_a(realized, "block that always runs"));
    }
    let iterated = bound(reader, loops, realized, block)?;
    let store = store(block.follow_to("body")?)?;
    let mut axes = Axes::default();
    let (spatial, indices) = (
        written(reader, store, tensor, iterated.spatial)?,
        store.list("indices")?,
    );
    name_axes(&mut axes, 'i', spatial)?;
    if !block.node.attributes.contains_key("init") || block.follow("init")?.is_none() {
        if !iterated.reduced.is_empty() {
            return Err(not_a(block, "reduction that begins with something"));
        }
        let body = reader.expression(store.follow_to("value")?, &axes, there)?;
        return stage_text(tensor, None, &body);
    }
    let init = self::store(block.follow_to("init")?)?;
    let place = store.follow_to("buffer")?.index;
    let first = Element { place, indices };
    if init.follow_to("buffer")?.index != place
        || !first.is_same(reader, &init.list("indices")?, &axes)?
    {
        return Err(not_a(init, "beginning of the same reduction"));
    }
    let initial = reader.expression(init.follow_to("value")?, &axes, there)?;
    let extents = iterated.reduced.iter().map(|&(_, extent)| extent).collect();
    name_axes(&mut axes, 'r', iterated.reduced)?;
    let combined = store.follow_to("value")?;
    if dtype(combined)? != tensor.dtype {
        return Err(not_a(combined, "reduction of its type"));
    }
    let kind = Reduction::kind(kind(combined)).ok_or_else(|| not_a(combined, "reduction"))?;
    let combined = first.other(reader, combined, &axes)?;
    let body = reader.expression(combined, &axes, there)?;
    let reduction = Reduction {
        kind,
        extents,
        initial,
    };
    stage_text(tensor, Some(&reduction), &body)
}

/// The axes of a block, each of which has to be one of the loops, and each loop one of them, unless it runs once.
fn bound<'a>(
    reader: &mut Reader<'a>,
    loops: &[Loop],
    realized: At<'a>,
    block: At<'a>,
) -> Result<Iterated, Error> {
    let (variables, values) = (block.list("iter_vars")?, realized.list("iter_values")?);
    reader
        .budget
        .take((variables.len() + values.len()) as u64)?;
    if variables.len() != values.len() {
        return Err(not_a(block, "block of as many axes as values"));
    }
    let mut free: HashMap<usize, i64, RandomState> = HashMap::default();
    for &Loop { variable, extent } in loops {
        if free.insert(variable, extent).is_some() {
            return Err(not_a(block, "block in different loops"));
        }
    }
    let mut axes = Iterated::default();
    for (axis, value) in variables.into_iter().zip(values) {
        let extent = iterated(axis)?;
        let is_loop = free.remove(&value.index) == Some(extent);
        let is_first = || kind(value) == "IntImm" && whole(value).is_ok_and(|value| value == 0);
        let is_plain = is_loop || (extent == 1 && is_first());
        if !is_plain {
            return Err(not_a(value, "loop of its own"));
        }
        let variable = axis.follow_to("var")?.index;
        match axis.whole("iter_type")? {
            DATA_PARALLEL if axes.spatial.insert(variable, extent).is_none() => {}
            REDUCED => axes.reduced.push((variable, extent)),
            _ => return Err(not_a(axis, "axis that is understood")),
        }
    }
    if free.values().any(|&extent| extent > 1) {
        return Err(not_a(block, "block that runs once for each element"));
    }
    Ok(axes)
}

/// A statement that writes an element.
fn store(at: At<'_>) -> Result<At<'_>, Error> {
    without(at, &["predicate"])?;
    if kind(at) == "BufferStore" {
        Ok(at)
    } else {
        Err(not_a(at, "statement that writes an element"))
    }
}

/// The axes that a statement writes all of a tensor by, in the order of its dimensions.
fn written<'a>(
    reader: &mut Reader<'a>,
    store: At<'a>,
    tensor: &Tensor,
    mut spatial: HashMap<usize, i64, RandomState>,
) -> Result<Vec<(usize, i64)>, Error> {
    let indices = store.list("indices")?;
    reader.budget.take(indices.len() as u64)?;
    if indices.len() != tensor.shape.len() {
        return Err(not_a(
            store,
            "statement that writes an element of its tensor",
        ));
    }
    let mut axes = Vec::with_capacity(indices.len());
    for (index, &size) in indices.into_iter().zip(&tensor.shape) {
        match spatial.remove(&index.index) {
            Some(extent) if extent == size => axes.push((index.index, extent)),
            None if size == 1 && kind(index) == "IntImm" && whole(index)? == 0 => {}
            _ => return Err(not_a(index, "axis over all of its dimension")),
        }
    }
    if spatial.values().any(|&extent| extent > 1) {
        return Err(not_a(store, "statement that writes each element once"));
    }
    // Those that go nowhere may be read by.
    axes.extend(spatial);
    Ok(axes)
}

/// The element that a block writes.
struct Element<'a> {
    place: usize,
    indices: Vec<At<'a>>,
}

impl<'a> Element<'a> {
    /// Are these its indices?
    fn is_same(
        &self,
        reader: &mut Reader<'a>,
        indices: &[At<'a>],
        axes: &Axes,
    ) -> Result<bool, Error> {
        if self.indices.len() != indices.len() {
            return Ok(false);
        }
        let nothing = Tensors::default();
        for (own, other) in self.indices.iter().zip(indices) {
            let own = reader.expression(*own, axes, &nothing)?;
            let other = reader.expression(*other, axes, &nothing)?;
            if own.as_index().is_none() || own.as_index() != other.as_index() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What it is combined with by an operator of two operands, one of which is itself.
    fn other(
        &self,
        reader: &mut Reader<'a>,
        combined: At<'a>,
        axes: &Axes,
    ) -> Result<At<'a>, Error> {
        let (a, b) = (combined.follow_to("a")?, combined.follow_to("b")?);
        for (own, other) in [(a, b), (b, a)] {
            let is_load = matches!(kind(own), "BufferLoad" | "TensorLoad");
            if is_load
                && source(own)? == self.place
                && self.is_same(reader, &own.list("indices")?, axes)?
            {
                return Ok(other);
            }
        }
        Err(not_a(combined, "reduction into what it writes"))
    }
}
