//! Candidates for change points: windows, divided at their largest divergence while the parts differ.

use std::collections::BTreeSet;

use super::divergence::{DivergenceBuffers, largest_divergence};
use super::options::ChangePointOptions;
use super::segment_test::{SegmentRules, segment_p};

/// Returns the candidates of all windows in ascending order: points at a weaker limit of p, which merging reduces.
///
/// A window starts at the last point of the window before it, at least half a window further.
pub(super) fn weak_points<R: SegmentRules>(
    values: &[f64],
    options: &ChangePointOptions,
) -> Vec<usize> {
    let weak_p = match options.p {
        p if p < 0.05 => 10.0 * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    };
    let window = options.window.max(2);
    let mut buffers = DivergenceBuffers::default();
    let mut points = BTreeSet::new();
    let mut start = 0;
    while start < values.len() {
        let end = (start + window).min(values.len());
        let piece = values.get(start..end).unwrap_or_default();
        let found = divide::<R>(piece, weak_p, options.min_segment, &mut buffers);
        let last = found.last().map_or(0, |point| start + point);
        points.extend(found.into_iter().map(|point| start + point));
        start = last.max(start + window / 2);
    }
    points.into_iter().collect()
}

/// A segment of a window with its candidate.
struct Segment {
    start: usize,
    end: usize,
    /// Position and size of the largest divergence.
    candidate: Option<(usize, f64)>,
}

/// Divides a window at the largest divergence of all its segments until that one is not significant. The test compares
/// both parts of the whole segment. Returns the points in ascending order.
pub(super) fn divide<R: SegmentRules>(
    values: &[f64],
    p_limit: f64,
    min_segment: usize,
    buffers: &mut DivergenceBuffers,
) -> Vec<usize> {
    let mut candidate_of = |start: usize, end: usize| {
        let piece = values.get(start..end).unwrap_or_default();
        let found = largest_divergence(piece, min_segment, buffers);
        Segment {
            start,
            end,
            candidate: found.map(|(at, size)| (start + at, size)),
        }
    };
    let mut pieces = vec![candidate_of(0, values.len())];
    loop {
        // The first of equals.
        let mut largest: Option<(usize, usize, f64)> = None;
        for (index, piece) in pieces.iter().enumerate() {
            if let Some((at, size)) = piece.candidate
                && largest.is_none_or(|(_, _, known)| size > known)
            {
                largest = Some((index, at, size));
            }
        }
        let Some((index, at, _)) = largest else {
            break;
        };
        let Some(piece) = pieces.get(index) else {
            break;
        };
        let (start, end) = (piece.start, piece.end);
        let left = values.get(start..at).unwrap_or_default();
        let right = values.get(at..end).unwrap_or_default();
        if segment_p::<R>(left, right) > p_limit {
            break;
        }
        let parts = [candidate_of(start, at), candidate_of(at, end)];
        pieces.splice(index..=index, parts);
    }
    let starts = pieces.iter().map(|piece| piece.start);
    starts.skip(1).collect()
}
