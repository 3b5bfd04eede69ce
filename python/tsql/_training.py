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
from .errors import ArgumentError

if TYPE_CHECKING:
    import numpy
    import torch

    from ._store import Store

S = TypeVar("S")


class TrainingBatch(Batch):
    """Rows of a step. `group_sizes` are those of the groups in it, in their order, where rows are grouped."""

    __slots__ = ("epoch", "group_sizes", "step")

    def __init__(self, native: _native.Batch, epoch: int, step: int, group_sizes: list[int] | None) -> None:
        super().__init__(native)
        self.epoch = epoch
        self.step = step
        self.group_sizes = group_sizes


class GraphStep:
    """A graph with some of its configurations. Arrays, as `numpy()` and `torch()` give them:

    - of each configuration: `samples` (k), `config_ids` (k), `runtimes_ns` (k; 0 where withheld), `normalizers_ns` (k),
      `codes` (k, groups), `layouts` (k, slots, 18), `tiles` (k, 24);
    - of the graph: `node_features` (nodes, 140), `opcodes` (nodes), `edges` (edges, 2), `slots`, `splits`,
      `group_of_slot` (slots), `layouts_of_code` (groups, codes, 18).

    Where a file has none of a kind, that array has no rows.
    """

    __slots__ = ("_arrays", "epoch", "graph_id", "id", "is_layout", "split", "step")

    def __init__(self, told: dict[str, Any]) -> None:
        self.epoch: int = told.pop("epoch")
        self.step: int = told.pop("step")
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
        self._epoch = 0
        self._step = 0
        self._open: tuple[int, Any] | None = None

    def _make(self) -> Any:
        raise NotImplementedError

    def _native(self) -> Any:
        """The library's loader; a process that was forked makes its own, since it has none of the threads."""
        if self._open is None or self._open[0] != os.getpid():
            self._left = self._open
            self._open = os.getpid(), self._make()
        return self._open[1]

    def _steps(self, epoch: int) -> int:
        raise NotImplementedError

    def _given(self, told: Any) -> S:
        raise NotImplementedError

    @property
    def epoch(self) -> int:
        """The epoch that comes next, or is under way."""
        return self._epoch

    def __iter__(self) -> Iterator[S]:
        """The rest of the epoch; after its end the next one begins."""
        epoch = self._epoch
        steps = self._native().start(epoch, self._step)
        while (told := steps.next()) is not None:
            given = self._given(told)
            self._step += 1
            yield given
        self._epoch, self._step = epoch + 1, 0

    def epochs(self, count: int) -> Iterator[S]:
        """So many epochs, beginning with the rest of this one."""
        for _ in range(count):
            yield from self

    def state_dict(self) -> dict[str, Any]:
        """Where it is: all that is needed to go on there."""
        return {"epoch": self._epoch, "step": self._step, "version": self._store._native.at, "recipe": self._recipe}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where another loader was, which may have been one of more or fewer processes.

        Raises `tsql.errors.ArgumentError` where that one had other rows or another order.
        """
        own = {name: value for name, value in self._recipe.items() if name not in _FREE}
        other = {name: value for name, value in state["recipe"].items() if name not in _FREE}
        if own != other or state["version"] != self._store._native.at:
            differ = [name for name in own if own[name] != other.get(name)] or ["version"]
            hint = f"hint: tsql.open(..., at={state['version']!r}), and the same arguments"
            raise ArgumentError(f"the state is that of another loader: {', '.join(differ)} differ\n{hint}", name="state")
        self._epoch, self._step = state["epoch"], state["step"]

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "recipe": self._recipe, "epoch": self._epoch, "step": self._step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store, self._recipe = state["store"], state["recipe"]
        self._epoch, self._step, self._open = state["epoch"], state["step"], None

    def iterable(self) -> Any:
        """A `torch.utils.data.IterableDataset` for `DataLoader(..., batch_size=None)`: with any number of workers, the
        sequence is that of a plain loop. (Without workers the library's own threads make steps ahead.)"""
        from ._torch import iterable

        return iterable(self)


_FREE = ("prefetch", "threads", "rank", "world")
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
        epoch, step, batch, group_sizes = told
        return TrainingBatch(batch, epoch, step, group_sizes)

    def _steps(self, epoch: int) -> int:
        steps: int = self._native().batch_count(epoch)
        return steps

    def batch(self, epoch: int, step: int) -> TrainingBatch:
        """The batch of a step, whichever was the last."""
        return self._given(self._native().batch(epoch, step))

    def batch_count(self, epoch: int = 0) -> int:
        """Batches of an epoch; with groups, epochs may differ."""
        return self._steps(epoch)

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
        return GraphStep(told)

    def _steps(self, epoch: int) -> int:
        return self.__len__()

    def step(self, epoch: int, step: int) -> GraphStep:
        """A step, whichever was the last."""
        return self._given(self._native().step(epoch, step))

    batch = step

    @property
    def files(self) -> list[str]:
        """Ids of the files."""
        return [file["id"] for file in json.loads(self._native().files())]

    def __len__(self) -> int:
        """Steps of an epoch."""
        count: int = self._native().step_count()
        return count

    def __repr__(self) -> str:
        return f"<tsql.TrainingGraphs: {len(self):,} steps of {', '.join(self._recipe['names'])}>"
