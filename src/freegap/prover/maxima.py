"""Ordinary programs that put out the place of the largest noisy answer, read as a `Selection`: for every n.

The text of such a program is, up to names,

    noisy = [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]
    return noisy.index(max(noisy))              or max(range(len(noisy)), key=lambda i: noisy[i])

with a law and a scale that depend on parameters only. With one answer the output is 0 whatever it is; with
more it is the first item of the selection of one, up to ties, a null set for the continuous noise that a
selection is proved for. Any other text is not read, and nothing is said of it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import FunctionType
from typing import Any

from freegap.forms import Change, Selection
from freegap.prover.check import claim_of
from freegap.prover.loop_labels import LoopDraws, labels_of
from freegap.prover.loop_ties import NoiseInOrder, inputs
from freegap.prover.loops import given_to, outside_of
from freegap.prover.problem import Problem
from freegap.prover.report import Proof
from freegap.prover.selection import prove_selection
from freegap.symbolic import NotDecided
from freegap.symbolic.subset import follow, remember_source
from freegap.symbolic.subset.source import definition_of
from freegap.symbolic.symbols import constant

_BUILTINS = {"enumerate", "getattr", "len", "max", "range"}


def prove_maximum(problem: Problem) -> Proof | None:
    """A proof for every number of answers, or None: it is no such program, or the noise is too small."""
    if problem.charge is not None or type(problem.mechanism) is not FunctionType:
        return None
    try:
        given = problem.keywords(problem.mechanism, all_given=True)
        form = _selection(problem.mechanism, given)
        proof = None if form is None else prove_selection(problem, form)
    except (NotDecided, RecursionError):  # a text that is nested too deeply to be read
        return None
    if form is None or proof is None or not proof.holds or not _is_tied(problem, form, given):
        return None
    return replace(proof, claim=claim_of(problem, for_all=True))


def _is_tied(problem: Problem, form: Selection, given: Mapping[str, Any]) -> bool:
    """Whether the program puts out the place of the largest, with the form's noise, wherever it is run."""
    for answers, seed, width in inputs(problem.resolution):
        noise = NoiseInOrder(seed, width)
        try:
            told = problem.mechanism(list(answers), noise, **given)
        except Exception:  # of the program, on these numbers: then nothing is said for all n
            return False
        noisy = [answer + drawn for answer, drawn in zip(answers, noise.values, strict=False)]
        drawn = {(str(law), scale) for law, scale, *_ in noise.drawn}
        if len(noise.drawn) != len(answers) or drawn != {(str(form.law), Fraction(form.scale))}:
            return False
        if type(told) is not int or told != noisy.index(max(noisy)):
            return False
    return True


def stay_the_best(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
    """What makes up for the change of the selected item and of the best of the rest, if that is needed; with
    several selected ones, they keep their distances. It is never negative."""
    needed = least + best - (runner_up.answer + runner_up.noise)
    return item.answer - item.neighbour - least + (needed if needed > 0 else 0)


def _selection(function: FunctionType, given: Mapping[str, Any]) -> Selection | None:
    node = definition_of(function).node
    if not isinstance(node, ast.FunctionDef):
        return None
    arguments = node.args
    placed = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    if arguments.vararg or arguments.kwarg or len(placed) < 2:
        return None
    parameters = [*placed[2:], *(a.arg for a in arguments.kwonlyargs)]
    body = node.body[ast.get_docstring(node) is not None :]
    draw = _noisy_list(body, *placed[:2])
    outside = outside_of(function)
    if draw is None or outside is None or _BUILTINS & {*outside, *parameters, *placed}:
        return None
    law, scale = _evaluated(draw, parameters, outside, given_to(function, given))
    return Selection(1, law, scale, None, stay_the_best) if type(law) is str else None


def _noisy_list(body: list[ast.stmt], answers: str, noise: str) -> ast.Call | None:
    """The draw that is added to each answer, if the text is that of such a program."""
    if len(body) != 2 or not isinstance(body[0], ast.Assign) or not isinstance(body[1], ast.Return):
        return None
    (target, *more), made, told = body[0].targets, body[0].value, body[1].value
    if more or told is None or not isinstance(target, ast.Name) or not isinstance(made, ast.ListComp):
        return None
    sums, (over, *others) = made.elt, made.generators
    if others or over.ifs or over.is_async or not isinstance(sums, ast.BinOp):
        return None
    names = [part.id for part in ast.walk(over.target) if isinstance(part, ast.Name)]
    if len({*names, target.id, answers, noise}) != len(names) + 3:
        return None
    texts = {f"for {names[-1]} in {answers}"}
    if len(names) == 2:
        texts = {
            f"for ({names[0]}, {names[1]}) in enumerate({answers})",
            f"for {names[0]}, {names[1]} in enumerate({answers})",
        }
    draw = sums.right
    plain = (
        ast.unparse(over).strip() in texts
        and isinstance(sums.op, ast.Add)
        and ast.unparse(sums.left) == names[-1]
        and isinstance(draw, ast.Call)
        and _told_by_place(told, target.id)
    )
    if not plain or not isinstance(draw, ast.Call) or len(draw.args) != 1:
        return None
    if any(word.arg != "label" for word in draw.keywords):
        return None
    draws = LoopDraws(noise, names[0] if names[1:] else None, {})
    if not draws.is_draw(draw) or not all(map(draws.is_another_each_time, labels_of(draw))):
        return None
    labels = [part for word in draw.keywords for part in ast.walk(word.value)]
    if not all(isinstance(part, ast.Name | ast.Tuple | ast.Constant | ast.Load) for part in labels):
        return None
    if {part.id for part in labels if isinstance(part, ast.Name)} - {*names[:-1]}:
        return None  # one that depends on an answer is used twice where two are equal, which is an error
    used = {part.id for part in ast.walk(draw.args[0]) if isinstance(part, ast.Name)}
    if used & {*names, target.id, answers, noise} or any(
        isinstance(part, ast.NamedExpr | ast.Lambda | ast.comprehension | ast.Starred)
        for part in ast.walk(draw.args[0])
    ):
        return None
    return draw if _drawn_from(draw.func, noise) else None


def _drawn_from(function: ast.expr, noise: str) -> bool:
    """`noise.law`, or `getattr(noise, law)`."""
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == noise
    if not isinstance(function, ast.Call) or function.keywords or len(function.args) != 2:
        return False
    source, law = function.args
    named = isinstance(function.func, ast.Name) and function.func.id == "getattr"
    from_noise = isinstance(source, ast.Name) and source.id == noise
    return named and from_noise and isinstance(law, ast.Name | ast.Constant)


def _told_by_place(told: ast.expr, noisy: str) -> bool:
    """Whether the place of the largest is put out."""
    if ast.unparse(told) == f"{noisy}.index(max({noisy}))":
        return True
    if not isinstance(told, ast.Call) or len(told.keywords) != 1:
        return False
    key = told.keywords[0].value
    if not isinstance(key, ast.Lambda) or len(key.args.args) != 1:
        return False
    place = key.args.args[0].arg
    text = f"max(range(len({noisy})), key=lambda {place}: {noisy}[{place}])"
    return place != noisy and ast.unparse(told) == text


def _evaluated(
    draw: ast.Call, parameters: list[str], outside: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[Any, Fraction | None]:
    """The name of the law and the scale, by the meaning of the subset."""
    if isinstance(draw.func, ast.Attribute):
        law = repr(draw.func.attr)
    else:
        law = ast.unparse(draw.func.args[1]) if isinstance(draw.func, ast.Call) else "None"
    words = f"*, {', '.join(parameters)}" if parameters else ""
    text = f"def freegap_drawn({words}):\n    return {law}, {ast.unparse(draw.args[0])}\n"
    file = f"<noise of a maximum {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    space = dict(outside)
    remember_source(file, text)
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - text of the program itself
    (path,) = follow(space["freegap_drawn"], [], given)
    return path.result[0], constant(path.result[1])
