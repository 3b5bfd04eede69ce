//! Steps of a rank: the rest of an epoch, or epochs without end.

use std::time::Duration;

use tsql_error::Result;

use super::order::{Order, RankShare};
use super::position::Position;
use super::prefetch::Prefetch;

/// Iterator of steps, in order. Threads prefetch them from the first call on.
#[derive(Debug)]
pub struct Steps<T> {
    sequence: StepSequence,
    prefetch: Prefetch<T>,
}

impl<T: Send + 'static> Steps<T> {
    /// Creates the steps of the rank of `order` in the rest of an epoch.
    ///
    /// # Errors
    /// [`Error::Argument`](tsql_error::Error::Argument) if the epoch has no such batch.
    pub(crate) fn new(
        order: &Order,
        from: Position,
        make: impl Fn(Position) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Self> {
        let share = order.rank_share(from)?;
        let sequence = StepSequence {
            first: share,
            later: share,
            end: share.steps(),
        };
        Ok(Self::from_sequence(order, sequence, make))
    }

    /// Creates the steps of the rank of `order` in the rest of an epoch and in all later epochs, which have equally
    /// many batches.
    ///
    /// # Errors
    /// As [`Steps::new`].
    pub(crate) fn endless(
        order: &Order,
        from: Position,
        make: impl Fn(Position) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Self> {
        let first = order.rank_share(from)?;
        let later = order.rank_share(Position::default())?;
        // A rank without a step in one epoch has none in any.
        let end = if later.steps() == 0 {
            first.steps()
        } else {
            u64::MAX
        };
        let sequence = StepSequence { first, later, end };
        Ok(Self::from_sequence(order, sequence, make))
    }

    fn from_sequence(
        order: &Order,
        sequence: StepSequence,
        make: impl Fn(Position) -> Result<T> + Send + Sync + 'static,
    ) -> Self {
        let make = move |number| make(sequence.at(number));
        Self {
            sequence,
            prefetch: Prefetch::new(0..sequence.end, order.ahead(), make),
        }
    }

    /// Returns the position of all ranks, given that each has used as many steps as this one; prefetched steps do
    /// not count. After the last step of an epoch it is the next epoch.
    #[must_use]
    pub fn position(&self) -> Position {
        self.sequence.position(self.prefetch.position())
    }

    /// Waits for the next step, with a timeout, so that callers can handle Ctrl-C in between. Returns true if
    /// `next` would not block.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.prefetch.wait(at_most)
    }
}

impl<T: Send + 'static> Iterator for Steps<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.prefetch.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.sequence.end.saturating_sub(self.prefetch.position());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

/// Steps of a rank: the rest of an epoch, then whole epochs.
#[derive(Clone, Copy, Debug)]
struct StepSequence {
    first: RankShare,
    later: RankShare,
    end: u64,
}

impl StepSequence {
    /// Returns the epoch of a step, the share of that epoch, and the step in it.
    fn place(&self, number: u64) -> (u64, RankShare, u64) {
        match number.checked_sub(self.first.steps()) {
            None => (self.first.epoch(), self.first, number),
            Some(beyond) => {
                let steps = self.later.steps().max(1);
                let epoch = self.first.epoch().saturating_add(1 + beyond / steps);
                (epoch, self.later, beyond % steps)
            }
        }
    }

    /// Returns the position of the step with this number.
    fn at(&self, number: u64) -> Position {
        let (epoch, share, step) = self.place(number);
        let batch = share.batch(step).batch;
        Position { epoch, batch }
    }

    /// Returns the position of all ranks after this number of steps.
    fn position(&self, number: u64) -> Position {
        let Some(last) = number.checked_sub(1) else {
            return self.first.position(0);
        };
        let (epoch, share, step) = self.place(last);
        let at = share.position(step + 1);
        Position {
            epoch: epoch + (at.epoch - share.epoch()),
            ..at
        }
    }
}
