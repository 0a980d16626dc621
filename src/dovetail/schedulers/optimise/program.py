"""A linear program with whole-number columns, put together block by block and solved by HiGHS on one thread.

What HiGHS does with a program is determined by the program and the limits, except for the limit in seconds: where the
same run must give the same answer on any machine, limit the nodes of the search and let the seconds be a safety net.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.elastic import Bools, Floats, Ints

if TYPE_CHECKING:
    from highspy import Highs, HighsLp

INFINITY = float("inf")


@dataclass(frozen=True)
class Limits:
    """When to stop: inf and -1 for never."""

    time_s: float = INFINITY
    nodes: int = -1
    gap: float = 0.0  # relative


@dataclass(frozen=True, eq=False)
class Answer:
    """The best solution found, and how good any could be."""

    values: Floats | None  # (columns,) None: no solution was found
    objective: float  # -inf without a solution
    bound: float  # no solution is above it
    optimal: bool  # within the gap asked for; False: a limit came first, or there is no solution
    infeasible: bool


@dataclass
class Program:
    """Maximise cost @ x subject to row bounds and column bounds."""

    _cost: list[Floats] = field(default_factory=list)
    _lower: list[Floats] = field(default_factory=list)
    _upper: list[Floats] = field(default_factory=list)
    _integer: list[Bools] = field(default_factory=list)
    _row_lower: list[Floats] = field(default_factory=list)
    _row_upper: list[Floats] = field(default_factory=list)
    _entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    columns: int = 0
    rows: int = 0

    def add_columns(
        self,
        count: int,
        *,
        cost: Floats | float = 0.0,
        lower: Floats | float = 0.0,
        upper: Floats | float = INFINITY,
        integer: bool = False,
    ) -> Ints:
        """New columns; their numbers."""
        for kept, given in ((self._cost, cost), (self._lower, lower), (self._upper, upper)):
            kept.append(np.broadcast_to(np.asarray(given, dtype=np.float64), (count,)))
        self._integer.append(np.full(count, integer, dtype=np.bool_))
        self.columns += count
        return np.arange(self.columns - count, self.columns, dtype=np.int64)

    def add_rows(
        self, count: int, *terms: tuple[Ints, Ints, Floats | float], lower: Floats | float, upper: Floats | float
    ) -> None:
        """New rows.  A term is (row, column, factor) for each entry, with rows counted from 0 within this block."""
        for row, column, factor in terms:
            row, column, values = np.broadcast_arrays(row, column, np.asarray(factor, dtype=np.float64))
            self._entries.append((row.ravel() + self.rows, column.ravel(), values.ravel()))
        self._row_lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (count,)))
        self._row_upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        self.rows += count

    def solve(
        self,
        limits: Limits = Limits(),
        *,
        relaxed: bool = False,
        start: Floats | None = None,
        fixed: tuple[Ints, Floats] | None = None,
    ) -> Answer:
        """`relaxed`: columns need not be whole.  `start` is a solution to begin with, if it is one.

        `fixed` are columns and the values they must have.
        """
        import highspy

        if not self.columns:
            return Answer(np.zeros(0), 0.0, 0.0, optimal=True, infeasible=False)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        for name, value in (
            ("threads", 1),
            ("parallel", "off"),
            ("random_seed", 0),
            ("time_limit", float(limits.time_s)),
            ("mip_rel_gap", float(limits.gap)),
            ("mip_abs_gap", 1e-9),
        ):
            solver.setOptionValue(name, value)
        if limits.nodes >= 0:
            solver.setOptionValue("mip_max_nodes", int(limits.nodes))
        solver.passModel(self._model(fixed, relaxed=relaxed))
        if start is not None and not relaxed:
            columns = np.arange(self.columns, dtype=np.int32)
            solver.setSolution(self.columns, columns, np.asarray(start, dtype=np.float64))
        solver.run()
        return self._answer(solver, relaxed=relaxed)

    def _answer(self, solver: Highs, *, relaxed: bool) -> Answer:
        import highspy

        info, status = solver.getInfo(), solver.getModelStatus()
        optimal = status == highspy.HighsModelStatus.kOptimal
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        if relaxed:
            found = optimal
            bound = float(info.objective_function_value) if optimal else INFINITY
        else:
            found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
            bound = float(info.mip_dual_bound) if self._any_integer() else float(info.objective_function_value)
        if infeasible:
            found, bound = False, -INFINITY
        values = np.array(solver.getSolution().col_value, dtype=np.float64) if found else None
        objective = float(info.objective_function_value) if found else -INFINITY
        return Answer(values, objective, max(bound, objective), optimal=optimal, infeasible=infeasible)

    def _any_integer(self) -> bool:
        return any(block.any() for block in self._integer)

    def _model(self, fixed: tuple[Ints, Floats] | None, *, relaxed: bool) -> HighsLp:
        import highspy

        row, column, value = (
            (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
            if self._entries
            else (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        )
        order = np.lexsort((row, column))
        row, column, value = row[order], column[order], value[order]
        if len(row):  # an entry given twice is a sum
            first = np.concatenate(([True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])))
            row, column, value = row[first], column[first], np.add.reduceat(value, np.flatnonzero(first))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.columns, self.rows
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = np.concatenate(self._cost)
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        if fixed is not None:
            lower[fixed[0]] = upper[fixed[0]] = fixed[1]
        lp.col_lower_, lp.col_upper_ = lower, upper
        none = [np.zeros(0)]
        lp.row_lower_, lp.row_upper_ = np.concatenate(self._row_lower or none), np.concatenate(self._row_upper or none)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=self.columns))))
        lp.a_matrix_.index_ = row
        lp.a_matrix_.value_ = value
        if not relaxed and self._any_integer():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(whole)] for whole in np.concatenate(self._integer)]
        return lp
