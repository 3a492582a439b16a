"""One-to-one, and volume: acyclicity of lemma 5.1, or conditions 2 and 4 of theorem 5.15 (Ding 2020).

The draws are put in an order of blocks such that the shifts of a block depend only on the block and on
earlier ones. What a shift depends on: the noise in its polynomials, and, if its polynomial is not the same
on all pieces, the noise in all conditions that tell the pieces apart.

*A block of one draw that does not depend on itself* is a step of definition 5.3: H'ⱼ = Hⱼ + ψ(earlier). If
all blocks are such, the local alignment is acyclic, and lemma 5.1 needs no more.

*Any other block B* is checked directly. Earlier draws E are recovered already, so let them be given. z3
shows that no two noise vectors that lead to the same ω and agree on E but differ on B have the same H' on
B. So B is recovered from H', and by induction over the blocks the local alignment is one-to-one (theorem
5.15, condition 2). Its Jacobian is block-triangular; each block's determinant on each piece is computed
exactly and must have |det| ≥ 1, so b = 1 in condition 4 and the privacy parameter ln(a/b) is the cost
bound. Discrete blocks need no Jacobian (Ilvento 2020, theorem 5.5).

It is enough to look at one ω at a time: M(D', H') = ω is proved before this is asked, so different outputs
have disjoint images. Outputs with the same skeleton share the pieces, so there are finitely many
alignments, provided that no shift uses the released numbers themselves (condition 5); with discrete noise
there are countably many in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from freegap.prover.classes import OutputClass
from freegap.prover.pieces import Piece, value_of
from freegap.prover.problem import NeighbourCase
from freegap.symbolic import Condition, NotDecided, Symbol, SymbolicVariable


@dataclass(frozen=True)
class NotInjective:
    """Two noise vectors with the same output that are aligned to the same one, or a lost volume."""

    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    noise: dict[Any, Fraction]
    other_noise: dict[Any, Fraction] | None
    determinant: Fraction | None = None


def check_injective(output: OutputClass, case: NeighbourCase, pieces: list[Piece]) -> str | NotInjective:
    """How it was established that the alignment is one-to-one and keeps volume, or why it is not."""
    _require_countable(output, pieces)
    blocks = blocks_of(output, pieces)
    acyclic = True
    for place, block in enumerate(blocks):
        if len(block) == 1 and not _depends_on_itself(output, pieces, block[0]):
            continue
        acyclic = False
        earlier = [label for done in blocks[:place] for label in done]
        found = _collision(output, case, pieces, block, earlier) or _lost_volume(output, pieces, block)
        if found is not None:
            return found
    return "acyclic" if acyclic else "one-to-one by z3, determinant 1"


def _require_countable(output: OutputClass, pieces: list[Piece]) -> None:
    released = frozenset(v for number in output.released for v in number.variables)
    for piece in pieces:
        used = frozenset().union(*(s.variables for s in piece.shifts.values()), _condition_variables([piece]))
        if used & released and output.continuous:
            raise NotDecided(
                f"the alignment for {output.name} uses the released numbers, which makes uncountably many"
            )


def _condition_variables(pieces: Iterable[Piece]) -> frozenset[SymbolicVariable]:
    found: frozenset[SymbolicVariable] = frozenset()
    for piece in pieces:
        if isinstance(piece.condition, Condition):
            found |= piece.condition.variables
    return found


def _dependencies(output: OutputClass, pieces: list[Piece], label: Any) -> frozenset[SymbolicVariable]:
    shifts = [piece.shifts[label] for piece in pieces]
    found = frozenset().union(*(shift.variables for shift in shifts))
    if len({shift.key for shift in shifts}) > 1:
        found |= _condition_variables(pieces)
    return found & output.noise_variables


def _depends_on_itself(output: OutputClass, pieces: list[Piece], label: Any) -> bool:
    return bool(_dependencies(output, pieces, label) & output.noise[label].variables)


def blocks_of(output: OutputClass, pieces: list[Piece]) -> list[list[Any]]:
    """The draws in blocks, each depending only on itself and on earlier ones: strongly connected
    components of "depends on", in topological order."""
    owner = {v: label for label, drawn in output.noise.items() for v in drawn.variables}
    needs = {
        label: {owner[v] for v in _dependencies(output, pieces, label)} - {label} for label in output.noise
    }
    reach = {label: _reachable(label, needs) for label in needs}
    blocks: list[list[Any]] = []
    left = list(output.noise)
    while left:
        done = {label for block in blocks for label in block}
        for label in left:
            block = [
                other for other in left if other == label or (other in reach[label] and label in reach[other])
            ]
            if all(needs[member] <= done | set(block) for member in block):
                blocks.append(block)
                left = [other for other in left if other not in block]
                break
    return blocks


def _reachable(start: Any, needs: dict[Any, set[Any]]) -> set[Any]:
    seen: set[Any] = set()
    ahead = list(needs[start])
    while ahead:
        label = ahead.pop()
        if label not in seen:
            seen.add(label)
            ahead += needs[label]
    return seen


def _collision(
    output: OutputClass, case: NeighbourCase, pieces: list[Piece], block: list[Any], earlier: list[Any]
) -> NotInjective | None:
    """Two noise vectors of the same output, equal on the earlier draws, different on the block, and
    aligned to the same values there."""
    problem = output.problem
    kept = {v for label in earlier for v in output.noise[label].variables}
    second = {v: _twin(v) for v in output.noise_variables - kept}
    substitution = [(_raw(v), _raw(next(iter(t.variables)))) for v, t in second.items()]

    def twin(term: Any) -> Any:
        return z3.substitute(term, *substitution)

    solver = problem.limits.solver(
        f"neighbours {case.name}: no two noises with the output {output.name} that differ in the draws "
        f"{block}, and not in {earlier}, are aligned to the same"
    )
    solver.add(case.formula, output.before, twin(output.before))
    solver.add(z3.Or([output.noise[label].z3 != twin(output.noise[label].z3) for label in block]))
    groups = _by_shifts(pieces, block)
    for i, (shifts, where) in enumerate(groups):
        for other_shifts, other_where in groups[i:]:
            same = [
                (output.noise[label] + a).z3 == twin((output.noise[label] + b).z3)
                for label, a, b in zip(block, shifts, other_shifts, strict=True)
            ]
            answer = solver.check(where, twin(other_where), *same)
            if answer == z3.unknown:
                raise NotDecided(f"z3 did not decide whether the alignment for {output.name} is one-to-one")
            if answer == z3.sat:
                model = solver.model()
                return NotInjective(
                    tuple(value_of(model, q) for q in problem.answers),
                    tuple(value_of(model, p) for p in problem.neighbour),
                    {label: value_of(model, drawn) for label, drawn in output.noise.items()},
                    {label: value_of(model, d.substitute(second)) for label, d in output.noise.items()},
                )
    return None


def _by_shifts(pieces: list[Piece], block: list[Any]) -> list[tuple[list[Symbol], Any]]:
    """The pieces joined where they shift the block alike: shifts, and the union of the conditions."""
    groups: dict[Any, tuple[list[Symbol], list[Any]]] = {}
    for piece in pieces:
        shifts = [piece.shifts[label] for label in block]
        groups.setdefault(tuple(s.key for s in shifts), (shifts, []))[1].append(piece.where)
    return [(shifts, z3.Or(where)) for shifts, where in groups.values()]


def _twin(variable: SymbolicVariable) -> Symbol:
    return Symbol({(SymbolicVariable(variable.name + "″", variable.resolution),): Fraction(1)})


def _raw(variable: SymbolicVariable) -> Any:
    return z3.Real(variable.name) if variable.resolution is None else z3.Int(variable.name)


def _lost_volume(output: OutputClass, pieces: list[Piece], block: list[Any]) -> NotInjective | None:
    variables = [next(iter(output.noise[label].variables)) for label in block]
    if not set(variables) & output.continuous:
        return None  # discrete: no change of variables
    if not set(variables) <= output.continuous:
        raise NotDecided(f"the alignment for {output.name} mixes discrete and continuous noise in one step")
    for shifts, _ in _by_shifts(pieces, block):
        rows = []
        for label, shift in zip(block, shifts, strict=True):
            slopes = [(output.noise[label] + shift).derivative(v).as_constant() for v in variables]
            if any(slope is None for slope in slopes):
                raise NotDecided(f"the alignment for {output.name} is not linear in the noise")
            rows.append([slope for slope in slopes if slope is not None])
        size = abs(_determinant(rows))
        if size < 1:
            return NotInjective((), (), {}, None, determinant=size)
    return None


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    """By elimination, exactly."""
    rows = [list(row) for row in rows]
    result = Fraction(1)
    for i in range(len(rows)):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            rows[i], rows[pivot] = rows[pivot], rows[i]
            result = -result
        result *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return result
