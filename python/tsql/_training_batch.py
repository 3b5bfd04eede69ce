"""Batches of training loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._batch import Batch
from ._convert import numpy_arrays, torch_tensors

if TYPE_CHECKING:
    import numpy
    import torch


class TrainingBatch(Batch):
    """Rows of a training loader, with the methods of `Batch`.

    Attributes:
        epoch: Number of the epoch.
        step: Number of the batch among those of this rank.
        number: Number of the batch among those of all ranks.
        group_sizes: Number of rows of each group, in order; `None` without groups.
        is_padding: Whether another rank gets the same batch.

    Examples:
        >>> import tsql
        >>> rows = tsql.create("memory:").training_rows("SELECT value % 7 AS k FROM range(480)", group="k")
        >>> batch = next(iter(rows))
        >>> batch.epoch, batch.step, batch.is_padding, sum(batch.group_sizes) == len(batch)
        (0, 0, False, True)
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
        self.epoch: int = epoch
        self.step: int = step
        self.group_sizes: list[int] | None = group_sizes
        self.number: int = number
        self.is_padding: bool = is_padding


class GraphStep:
    """A graph of TpuGraphs with some of its configurations.

    `numpy()` and `torch()` return these arrays. An array of missing data has no rows.

    | array | shape |
    |---|---|
    | `samples`, `config_ids`, `runtimes_ns` (0 if withheld), `normalizers_ns` | k |
    | `codes` | k, slot groups |
    | `layouts` | k, slots, 18 |
    | `tiles` | k, 24 |
    | `node_features` | nodes, 140 |
    | `opcodes` | nodes |
    | `edges` | edges, 2 |
    | `group_of_slot` | slots |
    | `layouts_of_code` | slot groups, codes, 18 |

    `slots` and `splits` describe the graph, too.

    Attributes:
        epoch: Number of the epoch.
        step: Number of the step among those of this rank.
        number: Number of the step among those of all ranks.
        is_padding: Whether another rank gets the same step.
        id: Id of the file.
        split: Dataset split of the file.
        graph_id: Value of `graphs.graph_id`.
        is_layout: Whether the file is of a layout collection. Otherwise it is of a tile collection.
    """

    __slots__ = ("_arrays", "epoch", "graph_id", "id", "is_layout", "is_padding", "number", "split", "step")

    def __init__(self, native: dict[str, Any], step: int) -> None:
        self.epoch: int = native.pop("epoch")
        self.step: int = step
        self.number: int = native.pop("number")
        self.is_padding: bool = native.pop("is_padding")
        self.id: str = native.pop("id")
        self.split: str | None = native.pop("split")
        self.graph_id: int = native.pop("graph_id")
        self.is_layout: bool = native.pop("is_layout")
        self._arrays = {name: (*array, None) for name, array in native.items()}

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Returns all arrays without a copy.

        Returns:
            NumPy arrays by name.
        """
        return numpy_arrays(self._arrays)

    def torch(self) -> dict[str, torch.Tensor]:
        """Returns all arrays as tensors, without a copy. Steps of a graph share its tensors, so do not write to them.

        Returns:
            Tensors by name.
        """
        return torch_tensors(self._arrays)

    def __repr__(self) -> str:
        return f"<tsql.GraphStep {self.id} epoch {self.epoch} step {self.step}>"
