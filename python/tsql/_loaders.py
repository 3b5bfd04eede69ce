"""Training loaders of a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from . import _native
from ._decode import pairs
from ._training import TrainingGraphs, TrainingRows

if TYPE_CHECKING:
    from ._store import Store


class LoaderMethods:
    """Methods of a store that create training loaders."""

    _native: _native.Store

    def training_rows(
        self,
        sql: str,
        params: Mapping[str, str] | None = None,
        *,
        batch_rows: int = 1024,
        group: str | None = None,
        balance: str | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        pad: bool = True,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 8,
        threads: int = 2,
    ) -> TrainingRows:
        """Returns a loader of the rows of a query: shuffled batches that resume at any batch.

        The rows are cached in the user's cache folder, and the next process reads them there.

        Several processes share an epoch: `world` is their number, and `rank` the number of this one. Together they get
        the batches of a single process. Synchronous training needs the same number of batches for each rank, so the
        first batches repeat at the end of an epoch. `batch.is_padding` marks them. Evaluation needs each batch once,
        with
        `pad=False`.

        Args:
            sql: SQL query. The SQL function `part_of_split` assigns rows to parts without leaks.
            params: Values of `$NAME`.
            batch_rows: Number of rows of a batch.
            group: Column whose rows stay together. `batch.group_sizes` has the number of rows of each group.
            balance: Column whose values take turns, so that each value is equally frequent.
            shuffle: Whether to shuffle the rows in each epoch.
            seed: Seed of the order.
            drop_last: Whether to drop a last batch with fewer rows, and batches that only some ranks would get.
            pad: Whether to repeat batches, so that all ranks get equally many.
            rank: Number of this process, from 0.
            world: Number of processes.
            prefetch: Number of batches to prepare in advance.
            threads: Number of threads that prepare batches.

        Returns:
            The loader.

        Raises:
            tsql.errors.SqlError: If the query is invalid.

        Examples:
            >>> import tsql
            >>> sql = (
            ...     "SELECT schedule_numbers(steps) AS x, runtime_ns AS y FROM records"
            ...     " JOIN configurations USING (config_id) WHERE status = 'ok'"
            ... )
            >>> rows = tsql.sample().training_rows(sql, batch_rows=100, seed=7)
            >>> [len(batch) for batch in rows]
            [100, 100, 100, 100, 56]
            >>> rows.peek().numpy()["x"].shape
            (100, 113)
        """
        recipe = {
            "sql": sql,
            "params": pairs(params),
            "batch_rows": batch_rows,
            "group": group,
            "balance": balance,
            "shuffle": shuffle,
            "seed": seed,
            "drop_last": drop_last,
            "pad": pad,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingRows(cast("Store", self), recipe)
        loader._log_padding()
        return loader

    def training_graphs(
        self,
        names: str | Iterable[str],
        *,
        k: int = 128,
        pick: str = "random",
        unique: bool = False,
        seed: int = 0,
        codes_only: bool = False,
        split: str | None = None,
        balance: str | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        pad: bool = True,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 4,
        threads: int = 2,
    ) -> TrainingGraphs:
        """Returns a loader of TpuGraphs graphs, each with `k` of its configurations. An epoch has each file once.

        ```python
        graphs = store.training_graphs("layout:xla:random", k=16, pick="gumbel", seed=7)
        for step in graphs:
            arrays = step.numpy()
        ```

        Args:
            names: Collections (`"layout:xla:random"`), files (`"layout:xla:random:resnet50"`), or the last components
                of these names.
            k: Number of configurations of a graph.
            pick: Selection of the configurations: `random`, `best`, `worst`, `baseline`, `gumbel` (as TpuGraphs'
                training code), `close` (neighbors by runtime) or `all`.
            unique: Whether a configuration counts once if it was measured several times.
            seed: Seed of the order and the selection.
            codes_only: Whether to omit the layouts of the configurations, and to return their codes only.
            split: Dataset split of the files: `train`, `valid` or `test`; without it, all files.
            balance: SQL expression over `sources`. Its values take turns, so that each value is equally frequent.
            shuffle: Whether to shuffle the files in each epoch.
            drop_last: Whether to drop batches that only some ranks would get.
            pad: Whether to repeat batches, so that all ranks get equally many.
            rank: Number of this process, from 0.
            world: Number of processes.
            prefetch: Number of graphs to prepare in advance.
            threads: Number of threads that prepare graphs.

        Returns:
            The loader.

        Raises:
            tsql.errors.UnknownName: If the store has no such file.
            tsql.errors.ArgumentError: If an argument is invalid.
        """
        recipe = {
            "names": [names] if isinstance(names, str) else list(names),
            "k": k,
            "pick": pick,
            "unique": unique,
            "seed": seed,
            "codes_only": codes_only,
            "split": split,
            "balance": balance,
            "shuffle": shuffle,
            "drop_last": drop_last,
            "pad": pad,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingGraphs(cast("Store", self), recipe)
        loader._log_padding()
        return loader

    def training_files(self) -> list[str]:
        """Returns the ids of the TpuGraphs files of the store, such as `"layout:xla:random:resnet50"`.

        Returns:
            Ids of files.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").training_files()
            []
        """
        return [file["id"] for file in json.loads(self._native.training_files())]
