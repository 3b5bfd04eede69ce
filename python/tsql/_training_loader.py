"""Base class of the training loaders.

A batch follows from the selection, the seed, the epoch and its number alone. A resumed run continues with the next batch,
and any number of processes shares the sequence of a single one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import ArgumentError, EmptyError

if TYPE_CHECKING:
    from ._store import Store

S = TypeVar("S")

_FREE_ARGUMENTS = ("prefetch", "threads", "rank", "world", "pad")
"""Arguments that may differ in a loaded state."""


class TrainingLoader(Generic[S]):
    """Position of a loader, and the calls that both loaders have.

    Args:
        store: The store. The loader reads its current version (`Store.pin`).
        recipe: Arguments of the loader.
    """

    def __init__(self, store: Store, recipe: Mapping[str, Any]) -> None:
        self._store = store.pin() if store._native.at is None and store.location != "memory:" else store
        self._recipe = dict(recipe)
        self._position = 0, 0
        """The epoch, and the number of its batches that all ranks together have used."""
        self._steps: Any = None
        """The dataset that `iterable` returned."""
        self._open: tuple[int, Any] | None = None

    def _create(self) -> Any:
        raise NotImplementedError

    def _native(self) -> Any:
        """Returns the native loader. A forked process has no threads of its parent, and creates another one."""
        if self._open is None or self._open[0] != os.getpid():
            self._inherited = self._open
            self._open = os.getpid(), self._create()
        return self._open[1]

    def _total(self, epoch: int) -> int:
        """Returns the number of batches of an epoch for all ranks."""
        raise NotImplementedError

    def _rank_steps(self, epoch: int) -> int:
        """Returns the number of batches of an epoch for this rank."""
        raise NotImplementedError

    def _converted(self, native: Any) -> S:
        raise NotImplementedError

    def _batch_at(self, epoch: int, number: int) -> S:
        """Returns a batch by its number among those of all ranks."""
        raise NotImplementedError

    def _step_of(self, number: int) -> int:
        step: int = (number - self._recipe["rank"]) // self._recipe["world"]
        return max(step, 0)

    def _steps_left(self, epoch: int, batches: int) -> int:
        """Returns the number of remaining steps of this rank, after `batches` batches of all ranks."""
        left: int = self._native().steps_left(epoch, batches)
        return left

    def _step_after(self, epoch: int, batches: int, step: int) -> S:
        """Returns a step of this rank, counted from `batches` batches of all ranks."""
        return self._batch_at(epoch, batches + step * self._recipe["world"] + self._recipe["rank"])

    def _at(self, epoch: int, step: int) -> S:
        """Returns a step of this rank in a whole epoch."""
        steps = self._rank_steps(epoch)
        if not 0 <= step < steps:
            raise ArgumentError(f"epoch {epoch} has no step {step}, expected 0 to {steps - 1}", name="step")
        return self._step_after(epoch, 0, step)

    def _move(self, epoch: int, batches: int, steps: int) -> None:
        """Sets the position to `steps` steps after `batches` batches of all ranks."""
        self._position = epoch, min(batches + steps * self._recipe["world"], self._total(epoch))

    def _log_padding(self) -> None:
        """Reports repeated batches to the logger `tsql`."""
        world, total = self._recipe["world"], self._total(0)
        missing = -total % world
        if missing and total and self._recipe["pad"] and not self._recipe["drop_last"]:
            import logging

            message = "epoch 0 has %d batches for %d ranks: %d repeated at its end (`is_padding`), none with pad=False"
            logging.getLogger("tsql").info(message, total, world, missing)

    def _check_position(self) -> None:
        """Raises an error if only a `DataLoader` knows which batches were used."""
        if self._steps is not None and self._steps.last_epoch() is not None:
            message = "worker processes of a DataLoader read batches, so the position of the loader is unknown"
            hint = "hint: use `dataloader(num_workers=...)` of the loader, or set a position with `load_state_dict`"
            raise ArgumentError(f"{message}\n{hint}", name="iterable")

    @property
    def epoch(self) -> int:
        """Number of the current epoch, or of the next one between epochs.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> for batch in rows:
            ...     pass
            >>> rows.epoch
            1
        """
        begun: int | None = None if self._steps is None else self._steps.last_epoch()
        return self._position[0] if begun is None else begun

    def __iter__(self) -> Iterator[S]:
        """Iterates over the rest of the epoch. The next loop iterates over the next epoch.

        A loop that ends early leaves its last batch behind. The next loop continues after it. `peek` looks at a batch
        without using it.
        """
        self._check_position()
        epoch, batches = self._position
        steps = self._native().start(epoch, batches)
        count = 0
        while (native := steps.next()) is not None:
            batch = self._converted(native)
            count += 1
            self._move(epoch, batches, count)
            yield batch
        self._position = epoch + 1, 0
        if self._steps is not None:
            self._steps.publish(False)

    def peek(self) -> S:
        """Returns the next batch. The following loop returns it again.

        Returns:
            The batch.

        Raises:
            tsql.errors.EmptyError: If this rank has no batch.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> rows.peek().rows() == next(iter(rows)).rows()
            True
        """
        self._check_position()
        epoch, batches = self._position
        if self._steps_left(epoch, batches) == 0 and batches > 0:
            epoch, batches = epoch + 1, 0
        if self._steps_left(epoch, batches) == 0:
            raise EmptyError("this rank has no batch in the epoch")
        return self._step_after(epoch, batches, 0)

    def epochs(self, count: int) -> Iterator[S]:
        """Iterates over several epochs, from the current position.

        Args:
            count: Number of epochs. The rest of the current epoch is the first of them.

        Yields:
            Batches.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> [batch.epoch for batch in rows.epochs(2)]
            [0, 0, 0, 1, 1, 1]
        """
        for _ in range(count):
            yield from self

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the loader, for a checkpoint.

        The value `batches` counts the batches of the epoch that all ranks have used. The state of one rank is that of
        all ranks if each has used the same number of steps.

        Returns:
            Position, table versions and arguments.

        Raises:
            tsql.errors.ArgumentError: If worker processes of another `DataLoader` read the batches.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> batch = next(iter(rows))
            >>> state = rows.state_dict()
            >>> state["epoch"], state["batches"]
            (0, 1)
        """
        self._check_position()
        epoch, batches = self._position
        return {"epoch": epoch, "batches": batches, "version": self._store._native.at, "recipe": self._recipe}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at the position of another loader, which may have had more or fewer ranks.

        No batch of the epoch is left out or repeated, except for padding at its end.

        Args:
            state: Result of `state_dict`.

        Raises:
            tsql.errors.ArgumentError: If the other loader had other rows or another order.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> rows = store.training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> batch = next(iter(rows))
            >>> resumed = store.training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> resumed.load_state_dict(rows.state_dict())
            >>> [batch.step for batch in resumed]
            [1, 2]
        """
        own = {name: value for name, value in self._recipe.items() if name not in _FREE_ARGUMENTS}
        other = {name: value for name, value in state["recipe"].items() if name not in _FREE_ARGUMENTS}
        if own != other or state["version"] != self._store._native.at:
            differ = [name for name in own if own[name] != other.get(name)] or ["version"]
            message = f"the state is of another loader, with other values of {', '.join(differ)}"
            hint = f"hint: tsql.open(..., at={state['version']!r}), and the same arguments"
            raise ArgumentError(f"{message}\n{hint}", name="state")
        batches = state["batches"] if "batches" in state else state["step"] * state["recipe"]["world"]
        self._position = state["epoch"], min(batches, self._total(state["epoch"]))
        if self._steps is not None:
            self._steps.publish(False)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "recipe": self._recipe, "position": self._position}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store, self._recipe, self._position = state["store"], state["recipe"], state["position"]
        self._open = self._steps = None

    def dataloader(self, **options: Any) -> Any:
        """Returns a `torch.utils.data.DataLoader` of the batches as dictionaries of tensors.

        ```python
        for batch in rows.dataloader(num_workers=2, pin_memory=True):
            ...
        ```

        A loop over it is the rest of an epoch. `state_dict` of this loader counts the batches that the loop received.
        Without workers, threads of the loader prepare batches. Workers start by `forkserver` by default, so a script
        with workers needs `if __name__ == "__main__":`.

        Args:
            **options: Options of `DataLoader`, without batch sizes and samplers.

        Returns:
            The `DataLoader`.

        Raises:
            tsql.errors.ArgumentError: If an option is not supported.
        """
        from ._torch import StepLoader

        self._check_position()
        return StepLoader(self, self.iterable(), options)

    def iterable(self) -> Any:
        """Returns a `torch.utils.data.IterableDataset` for a `DataLoader` that other code creates.

        The `DataLoader` needs `batch_size=None` and `multiprocessing_context="forkserver"`. With workers, each loop is
        the next epoch. Only the `DataLoader` knows which batches its loop received. `state_dict` then raises
        `tsql.errors.ArgumentError`; use `dataloader` instead.

        Returns:
            The dataset.
        """
        from ._torch import StepDataset

        if self._steps is None:
            self._steps = StepDataset(self)
        elif self._steps.last_epoch() is None:
            self._steps.publish(False)
        return self._steps
