"""Training loaders: what a step gets follows from the selection, the seed, the epoch and the step alone.

So a run that is resumed goes on with the step that comes next, whatever had been made ahead, and any number of processes
shares the sequence that one has. Both loaders are made of a store as it is when they are made (`Store.pin`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _native
from ._facts import Column, columns_of
from ._result import Batch, numpy_of, torch_of
from .errors import ArgumentError, EmptyError

if TYPE_CHECKING:
    import numpy
    import torch

    from ._store import Store

S = TypeVar("S")


class TrainingBatch(Batch):
    """Rows of a step. `group_sizes` are those of the groups in it, in their order, where rows are grouped.

    `step` counts the batches of this rank, `number` those of all ranks; `is_padding` marks one that another rank has, too.
    """

    __slots__ = ("epoch", "group_sizes", "is_padding", "number", "step")

    def __init__(
        self,
        native: _native.Batch,
        epoch: int,
        step: int,
        group_sizes: list[int] | None,
        *,
        number: int = 0,
        is_padding: bool = False,
    ) -> None:
        super().__init__(native)
        self.epoch = epoch
        self.step = step
        self.group_sizes = group_sizes
        self.number = number
        self.is_padding = is_padding


class GraphStep:
    """A graph with some of its configurations. Arrays, as `numpy()` and `torch()` give them:

    - of each configuration: `samples` (k), `config_ids` (k), `runtimes_ns` (k; 0 where withheld), `normalizers_ns` (k),
      `codes` (k, groups), `layouts` (k, slots, 18), `tiles` (k, 24);
    - of the graph: `node_features` (nodes, 140), `opcodes` (nodes), `edges` (edges, 2), `slots`, `splits`,
      `group_of_slot` (slots), `layouts_of_code` (groups, codes, 18).

    Where a file has none of a kind, that array has no rows. `step` counts the steps of this rank, `number` those of all ranks;
    `is_padding` marks one that another rank has, too.
    """

    __slots__ = ("_arrays", "epoch", "graph_id", "id", "is_layout", "is_padding", "number", "split", "step")

    def __init__(self, told: dict[str, Any], step: int) -> None:
        self.epoch: int = told.pop("epoch")
        self.step = step
        self.number: int = told.pop("number")
        self.is_padding: bool = told.pop("is_padding")
        self.id: str = told.pop("id")
        self.split: str | None = told.pop("split")
        self.graph_id: int = told.pop("graph_id")
        self.is_layout: bool = told.pop("is_layout")
        self._arrays = {name: (*array, None) for name, array in told.items()}

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All arrays, without a copy."""
        return numpy_of(self._arrays)

    def torch(self) -> dict[str, torch.Tensor]:
        """All arrays as tensors, without a copy; those of the graph are shared by its steps: they are for reading."""
        return torch_of(self._arrays)

    def __repr__(self) -> str:
        return f"<tsql.GraphStep {self.id} epoch {self.epoch} step {self.step}>"


class _Loader(Generic[S]):
    """What both loaders have: where they are, and how that is kept."""

    def __init__(self, store: Store, recipe: Mapping[str, Any]) -> None:
        self._store = store.pin() if store._native.at is None and store.location != "memory:" else store
        self._recipe = dict(recipe)
        self._place = 0, 0
        """The epoch, and how many of its batches all ranks together have taken."""
        self._steps: Any = None
        """What `iterable` gave."""
        self._open: tuple[int, Any] | None = None

    def _make(self) -> Any:
        raise NotImplementedError

    def _native(self) -> Any:
        """The library's loader; a process that was forked makes its own, since it has none of the threads."""
        if self._open is None or self._open[0] != os.getpid():
            self._left = self._open
            self._open = os.getpid(), self._make()
        return self._open[1]

    def _total(self, epoch: int) -> int:
        """Batches of an epoch for all ranks."""
        raise NotImplementedError

    def _rank_steps(self, epoch: int) -> int:
        """Batches of an epoch for this rank."""
        raise NotImplementedError

    def _given(self, told: Any) -> S:
        raise NotImplementedError

    def _made(self, epoch: int, number: int) -> S:
        """The batch with this number in the epoch, whichever rank takes it."""
        raise NotImplementedError

    def _step_of(self, number: int) -> int:
        step: int = (number - self._recipe["rank"]) // self._recipe["world"]
        return max(step, 0)

    def _steps_left(self, epoch: int, batches: int) -> int:
        """Steps of this rank in an epoch of which all ranks have taken so many batches."""
        left: int = self._native().steps_left(epoch, batches)
        return left

    def _step_after(self, epoch: int, batches: int, step: int) -> S:
        """A step of this rank, counted from where so many batches were taken."""
        return self._made(epoch, batches + step * self._recipe["world"] + self._recipe["rank"])

    def _at(self, epoch: int, step: int) -> S:
        """A step of this rank in a whole epoch."""
        steps = self._rank_steps(epoch)
        if not 0 <= step < steps:
            raise ArgumentError(f"epoch {epoch} has no step {step}: it has {steps}, from 0", name="step")
        return self._step_after(epoch, 0, step)

    def _move(self, epoch: int, batches: int, steps: int) -> None:
        """Takes note of steps that were given, counted from where so many batches were taken."""
        self._place = epoch, min(batches + steps * self._recipe["world"], self._total(epoch))

    def _tell_padding(self) -> None:
        """Tells the logger `tsql` where batches are repeated."""
        world, total = self._recipe["world"], self._total(0)
        missing = -total % world
        if missing and total and self._recipe["pad"] and not self._recipe["drop_last"]:
            import logging

            told = "epoch 0 has %d batches for %d ranks: %d repeated at its end (`is_padding`), none with pad=False"
            logging.getLogger("tsql").info(told, total, world, missing)

    def _check_place(self) -> None:
        """Raises where nobody knows which batches were used."""
        if self._steps is not None and self._steps.last_epoch() is not None:
            hint = "hint: `dataloader(num_workers=...)` of the loader counts them; `load_state_dict` sets a place"
            message = "worker processes of a DataLoader took batches, and which of them were used is not known"
            raise ArgumentError(f"{message}\n{hint}", name="iterable")

    @property
    def epoch(self) -> int:
        """The epoch that comes next, or is under way."""
        begun: int | None = None if self._steps is None else self._steps.last_epoch()
        return self._place[0] if begun is None else begun

    def __iter__(self) -> Iterator[S]:
        """The rest of the epoch; after its end the next one begins.

        A batch counts as taken when it is given: a loop that is left goes on with the next one. `peek` looks at it without taking it.
        """
        self._check_place()
        epoch, batches = self._place
        steps = self._native().start(epoch, batches)
        count = 0
        while (told := steps.next()) is not None:
            given = self._given(told)
            count += 1
            self._move(epoch, batches, count)
            yield given
        self._place = epoch + 1, 0
        if self._steps is not None:
            self._steps.publish(False)

    def peek(self) -> S:
        """The batch that comes next, which is still there for the loop that follows.

        Raises `tsql.errors.EmptyError` where this rank has none.
        """
        self._check_place()
        epoch, batches = self._place
        if self._steps_left(epoch, batches) == 0 and batches > 0:
            epoch, batches = epoch + 1, 0
        if self._steps_left(epoch, batches) == 0:
            raise EmptyError("this rank has no batch in an epoch")
        return self._step_after(epoch, batches, 0)

    def epochs(self, count: int) -> Iterator[S]:
        """So many epochs, beginning with the rest of this one."""
        for _ in range(count):
            yield from self

    def state_dict(self) -> dict[str, Any]:
        """Where it is: all that is needed to go on there.

        `batches` are those of the epoch that all ranks together have taken, given that each has taken as many steps as this
        one: the state of one rank is that of all.
        """
        self._check_place()
        epoch, batches = self._place
        return {"epoch": epoch, "batches": batches, "version": self._store._native.at, "recipe": self._recipe}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where other ranks were, which may have been more or fewer: no batch of the epoch is left out or comes twice
        (but for padding at its end).

        Raises `tsql.errors.ArgumentError` where they had other rows or another order.
        """
        own = {name: value for name, value in self._recipe.items() if name not in _FREE}
        other = {name: value for name, value in state["recipe"].items() if name not in _FREE}
        if own != other or state["version"] != self._store._native.at:
            differ = [name for name in own if own[name] != other.get(name)] or ["version"]
            hint = f"hint: tsql.open(..., at={state['version']!r}), and the same arguments"
            raise ArgumentError(f"the state is that of another loader: {', '.join(differ)} differ\n{hint}", name="state")
        batches = state["batches"] if "batches" in state else state["step"] * state["recipe"]["world"]
        self._place = state["epoch"], min(batches, self._total(state["epoch"]))
        if self._steps is not None:
            self._steps.publish(False)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "recipe": self._recipe, "place": self._place}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store, self._recipe, self._place = state["store"], state["recipe"], state["place"]
        self._open = self._steps = None

    def dataloader(self, **options: Any) -> Any:
        """A `torch.utils.data.DataLoader` of its steps as dictionaries of tensors: `rows.dataloader(num_workers=2, pin_memory=True)`.

        It takes what torch's takes, but for batches and samplers. Each loop over it is the rest of an epoch, and `state_dict` of
        this loader counts the steps that the loop was given, whatever workers had made ahead. Without workers the library's own
        threads make steps ahead. Workers are started by a `forkserver` unless `multiprocessing_context` says otherwise, so a
        script that has some needs `if __name__ == "__main__":`.
        """
        from ._torch import StepLoader

        self._check_place()
        return StepLoader(self, self.iterable(), options)

    def iterable(self) -> Any:
        """A `torch.utils.data.IterableDataset` for a `DataLoader(..., batch_size=None, multiprocessing_context="forkserver")` that is
        made elsewhere.

        Without workers it is this loader. With workers each loop is the next epoch, in the order of a plain loop; which steps
        the loop was given is known to the `DataLoader` only, so `state_dict` raises `tsql.errors.ArgumentError` then:
        `dataloader` makes one that tells.
        """
        from ._torch import Steps

        if self._steps is None:
            self._steps = Steps(self)
        elif self._steps.last_epoch() is None:
            self._steps.publish(False)
        return self._steps


_FREE = ("prefetch", "threads", "rank", "world", "pad")
"""Arguments that may differ where a state is loaded."""


class TrainingRows(_Loader[TrainingBatch]):
    """Batches of the rows of a query: see `Store.training_rows`.

    `len`, `rows[index]` and `rows.take(indices)` give rows by their number, whatever the order: as NumPy, grain and
    torch's samplers want them.
    """

    def _make(self) -> _native.RowLoader:
        how = {name: value for name, value in self._recipe.items() if name != "sql"}
        return self._store._native.training_rows(self._recipe["sql"], how)

    def _given(self, told: Any) -> TrainingBatch:
        epoch, number, batch, group_sizes, is_padding = told
        return TrainingBatch(
            batch, epoch, self._step_of(number), group_sizes, number=number, is_padding=is_padding
        )

    def _made(self, epoch: int, number: int) -> TrainingBatch:
        return self._given(self._native().batch(epoch, number))

    def _total(self, epoch: int) -> int:
        total: int = self._native().total(epoch)
        return total

    def _rank_steps(self, epoch: int) -> int:
        steps: int = self._native().batch_count(epoch)
        return steps

    def batch(self, epoch: int, step: int) -> TrainingBatch:
        """The batch of a step of this rank in a whole epoch, whichever was the last."""
        return self._at(epoch, step)

    def batch_count(self, epoch: int = 0) -> int:
        """Batches of a whole epoch for this rank, padding included; with groups, epochs may differ."""
        return self._rank_steps(epoch)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""
        return columns_of(self._native().columns())

    @property
    def group_count(self) -> int | None:
        """Groups, where rows are grouped."""
        count: int | None = self._native().group_count()
        return count

    def take(self, indices: Sequence[int]) -> Batch:
        """The rows of these numbers."""
        return Batch(self._native().rows([int(index) for index in indices]))

    def __len__(self) -> int:
        return len(self._native())

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.__getitems__([index % len(self)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        batch = self.take(indices)
        names = [column.name for column in batch.columns]
        return [dict(zip(names, row, strict=True)) for row in batch.rows()]

    def __repr__(self) -> str:
        return f"<tsql.TrainingRows: {len(self):,} rows of {self._recipe['sql']!r}>"


class TrainingGraphs(_Loader[GraphStep]):
    """Graphs with some of their configurations: see `Store.training_graphs`."""

    def _make(self) -> _native.GraphLoader:
        how = {name: value for name, value in self._recipe.items() if name != "names"}
        return self._store._native.training_graphs(self._recipe["names"], how)

    def _given(self, told: Any) -> GraphStep:
        return GraphStep(told, self._step_of(told["number"]))

    def _made(self, epoch: int, number: int) -> GraphStep:
        return self._given(self._native().step(epoch, number))

    def _total(self, epoch: int) -> int:
        total: int = self._native().total()
        return total

    def _rank_steps(self, epoch: int) -> int:
        return self.__len__()

    def step(self, epoch: int, step: int) -> GraphStep:
        """A step of this rank in a whole epoch, whichever was the last."""
        return self._at(epoch, step)

    batch = step

    @property
    def files(self) -> list[str]:
        """Ids of the files."""
        return [file["id"] for file in json.loads(self._native().files())]

    def __len__(self) -> int:
        """Steps of a whole epoch for this rank, padding included."""
        count: int = self._native().step_count()
        return count

    def __repr__(self) -> str:
        return f"<tsql.TrainingGraphs: {len(self):,} steps of {', '.join(self._recipe['names'])}>"
