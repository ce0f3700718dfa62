# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 - rows of a table
"""Points at which the formula of a derivative fails, and their table docs/hard-points.md.

``--check`` only compares the rows of the page with the points listed here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import nn
from olympus.scipy import linalg, special

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hard-points.md"


class HardPoint(NamedTuple):
    """A function, a point, and its derivatives there.

    Attributes:
      name: the name of the row.
      function: the function of one array, with a scalar result.
      point: the point.
      slope: the gradient.
      bend: the matrix of second derivatives; None if it does not exist.
      note: the convention, if there is a choice.
    """

    name: str
    function: Callable[[Any], Any]
    point: Any
    slope: Any
    bend: Any = 0.0
    note: str = ""


E = np.array([[1.0, 2.0], [-1.0, 3.0]])
S = np.array([[1.0, 2.0], [2.0, 3.0]])
W = np.array([[0.5, -1.0], [2.0, 0.25]])
WS = np.array([[0.5, 1.0], [1.0, 0.25]])
ONE = np.eye(2)
C = 1.5


def curve(function: Callable[[Any], Any], start: Any, direction: Any, weight: Any = W) -> Any:
    """Returns the weighted sum of ``function(start + t * direction)``, as a function of t."""
    return lambda t: jnp.sum(weight * function(start + t * direction))


def at_multiple(
    name: str, function: Callable[[Any], Any], slope: float, bend: float, direction: Any = S
) -> HardPoint:
    """Returns the row of a matrix function at 1.5 times the identity.

    Args:
      name: the name of the row.
      function: the function of a matrix.
      slope: the derivative of the function of a number, at 1.5.
      bend: the second derivative.
      direction: the direction in which the matrix moves.
    """
    weights = WS if direction is S else W
    return HardPoint(
        f"{name} at a multiple of the identity",
        curve(function, C * ONE, direction, weights),
        0.0,
        slope * np.sum(weights * direction),
        bend * np.sum(weights * (direction @ direction)),
    )


def guarded(
    name: str, function: Callable[[Any], Any], point: float, above: bool = True
) -> HardPoint:
    """Returns the row of ``where(x > point, function(x), 0)`` at the point itself."""

    def chosen(x: Any) -> Any:
        return jnp.where(x > point if above else x < point, function(x), 0.0)

    sign = ">" if above else "<"
    return HardPoint(f"`where(x {sign} {point:g}, {name}(x), 0)` at {point:g}", chosen, point, 0.0)


def of_factors(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def composed(a: Any) -> Any:
        w, v = jnp.linalg.eigh(a)
        return function(w, v)

    return composed


def singular(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    def composed(a: Any) -> Any:
        return function(*jnp.linalg.svd(a, full_matrices=False))

    return composed


F, T = E / 2, (E + E.T) / 2
POLAR_SLOPE = F - T / 2
POLAR_BEND = 2 * (-F @ T / 2 - F.T @ F / 2 + 3 / 8 * T @ T)
HALVES = {"note": "half at a tie of two"}
ZERO = {"note": "zero, the mean of all directions"}

WHERE = [
    guarded("log", jnp.log, 0.0),
    guarded("sqrt", jnp.sqrt, 0.0),
    guarded("reciprocal", lambda x: 1 / x, 0.0),
    guarded("rsqrt", lambda x: x**-0.5, 0.0),
    guarded("cbrt", jnp.cbrt, 0.0),
    guarded("x log", lambda x: x * jnp.log(x), 0.0),
    guarded("lgamma", special.gammaln, 0.0),
    guarded("log1p", jnp.log1p, -1.0),
    guarded("arccosh", jnp.arccosh, 1.0),
    guarded("arcsin", jnp.arcsin, 1.0, above=False),
    guarded("arccos", jnp.arccos, 1.0, above=False),
    guarded("arctanh", jnp.arctanh, 1.0, above=False),
    guarded("log log", lambda x: jnp.log(jnp.log(x)), 1.0),
]

ELEMENTWISE = [
    HardPoint("`norm(x)` at zero", jnp.linalg.norm, np.zeros(3), 0.0, **ZERO),
    HardPoint(
        "`norm(x - y)` at equal points", lambda x: jnp.linalg.norm(x - C), np.full(2, C), 0.0, **ZERO
    ),
    HardPoint(
        "`norm(x, axis=1)` with a row of zeros",
        lambda x: jnp.sum(jnp.linalg.norm(x.reshape(2, 2), axis=1)),
        np.array([0.0, 0.0, 3.0, 4.0]),
        [0, 0, 0.6, 0.8],
        np.pad(np.array([[16, -12], [-12, 9]]) / 125, ((2, 0), (2, 0))),
        **ZERO,
    ),
    HardPoint("`sqrt(x ** 2)` at zero", lambda x: jnp.sqrt(x**2), 0.0, 0.0, None, **ZERO),
    HardPoint("`x sqrt(x)` at zero", lambda x: x * jnp.sqrt(x), 0.0, 0.0, None),
    HardPoint("`arctan2(y, x)` at zero", lambda v: jnp.arctan2(v[0], v[1]), np.zeros(2), 0.0, **ZERO),
    HardPoint("`x ** 0.` at zero", lambda x: x ** jnp.asarray(0.0), 0.0, 0.0),
    HardPoint("`x ** 1.` at zero", lambda x: x ** jnp.asarray(1.0), 0.0, 1.0),
    HardPoint("`x ** 2.` at zero", lambda x: x ** jnp.asarray(2.0), 0.0, 0.0, 2.0),
    HardPoint(
        "`x ** y` at (0, 2)", lambda v: v[0] ** v[1], np.array([0.0, 2.0]), 0.0, [[2, 0], [0, 0]]
    ),
    HardPoint("`0 ** y` at 3", lambda y: jnp.power(0.0, y), 3.0, 0.0),
    HardPoint("`xlogy(0, x)` at zero", lambda x: special.xlogy(0.0, x), 0.0, 0.0),
    HardPoint("`sinc(x)` at zero", jnp.sinc, 0.0, 0.0, -(np.pi**2) / 3),
    HardPoint(
        "`logsumexp` of -inf alone",
        lambda x: nn.logsumexp(jnp.stack([x, x])),
        -np.inf,
        0.0,
        note="zero: no element has weight",
    ),
    HardPoint(
        "`logsumexp` with one -inf", lambda x: nn.logsumexp(jnp.stack([x, -jnp.inf])), 1.0, 1.0
    ),
    HardPoint(
        "`logaddexp` with -inf", lambda x: jnp.logaddexp(x, -jnp.inf), 1.0, 1.0
    ),
    HardPoint(
        "`softmax` with a masked element",
        lambda x: nn.softmax(jnp.where(np.array([True, True, False]), x, -jnp.inf))[0],
        np.zeros(3),
        [0.25, -0.25, 0],
    ),
    HardPoint(
        "`log_softmax` with a masked element",
        lambda x: nn.log_softmax(jnp.where(np.array([True, True, False]), x, -jnp.inf))[0],
        np.zeros(3),
        [0.5, -0.5, 0],
        [[-0.25, 0.25, 0], [0.25, -0.25, 0], [0, 0, 0]],
    ),
    HardPoint("`std` of equal numbers", jnp.std, np.ones(3), 0.0, None, **ZERO),
    HardPoint("`var` of equal numbers", jnp.var, np.ones(3), 0.0, 2 / 3 * (np.eye(3) - 1 / 3)),
    HardPoint("`abs(x)` at zero", jnp.abs, 0.0, 1.0, note="from the right"),
    HardPoint("`maximum(x, 0)` at zero", lambda x: jnp.maximum(x, 0.0), 0.0, 0.5, **HALVES),
    HardPoint("`minimum(x, 0)` at zero", lambda x: jnp.minimum(x, 0.0), 0.0, 0.5, **HALVES),
    HardPoint("`clip(x, 0, 1)` at zero", lambda x: jnp.clip(x, 0.0, 1.0), 0.0, 0.5, **HALVES),
    HardPoint("`relu(x)` at zero", nn.relu, 0.0, 0.0, note="from the left"),
    HardPoint("`max` of equal numbers", jnp.max, np.ones(3), [1 / 3] * 3, note="equal shares"),
    HardPoint("`min` of equal numbers", jnp.min, np.ones(4), [1 / 4] * 4, note="equal shares"),
    HardPoint(
        "`sort` of equal numbers",
        lambda x: jnp.sort(x) @ np.array([1.0, 2.0, 4.0]),
        np.ones(3),
        [1, 2, 4],
        note="in the order of the operand",
    ),
    HardPoint(
        "`median` of equal numbers",
        jnp.median,
        np.ones(3),
        [0, 1, 0],
        note="in the order of the operand",
    ),
    HardPoint(
        "`prod` with a zero",
        jnp.prod,
        np.array([0.0, 2.0, 3.0]),
        [6, 0, 0],
        [[0, 3, 2], [3, 0, 0], [2, 0, 0]],
    ),
    HardPoint(
        "`cumprod` with zeros", lambda x: jnp.sum(jnp.cumprod(x)), np.zeros(2), [1, 0], [[0, 1], [1, 0]]
    ),
]  # fmt: skip

MATRICES = [
    HardPoint("`det` at zero", lambda t: jnp.linalg.det(t * E), 0.0, 0.0, 2 * np.linalg.det(E)),
    at_multiple("`inv`", jnp.linalg.inv, -(C**-2), 2 * C**-3, E),
    at_multiple("`pinv`", jnp.linalg.pinv, -(C**-2), 2 * C**-3, E),
    HardPoint("`expm` at zero", curve(linalg.expm, 0 * ONE, E), 0.0, np.sum(W * E), np.sum(W * (E @ E))),
    at_multiple("`expm`", linalg.expm, np.exp(C), np.exp(C), E),
    at_multiple("`sqrtm`", lambda a: linalg.sqrtm(a).real, 0.5 * C**-0.5, -0.25 * C**-1.5, E),
    at_multiple("`logm`", lambda a: linalg.logm(a).real, 1 / C, -(C**-2), E),
    at_multiple("`matrix_power(a, 3)`", lambda a: jnp.linalg.matrix_power(a, 3), 3 * C**2, 6 * C, E),
    *(
        at_multiple(f"`matrix_function({name}, a)`", lambda a, g=g: jnp.linalg.matrix_function(g, a), *d)
        for name, g, d in (
            ("exp", jnp.exp, (np.exp(C), np.exp(C))),
            ("log", jnp.log, (1 / C, -(C**-2))),
            ("sqrt", jnp.sqrt, (0.5 * C**-0.5, -0.25 * C**-1.5)),
            ("sin", jnp.sin, (np.cos(C), -np.sin(C))),
            ("reciprocal", lambda w: 1 / w, (-(C**-2), 2 * C**-3)),
        )
    ),
    HardPoint(
        "`polar` at equal singular values",
        curve(lambda a: linalg.polar(a)[0], 2 * ONE, E),
        0.0,
        np.sum(W * POLAR_SLOPE),
        np.sum(W * POLAR_BEND),
    ),
    HardPoint(
        "`cond` of a diagonal matrix",
        lambda t: jnp.linalg.cond(np.diag([4.0, 2.0, 1.0]) + t * np.diag([3.0, 1.0, 2.0])),
        0.0,
        3 - 8.0,
        -12 + 32.0,
    ),
    HardPoint(
        "`cholesky` of a matrix of rank 1",
        lambda t: jnp.sum(
            W * jnp.linalg.cholesky((lambda v: v[:, None] * v)(jnp.stack([1 + t, 1 + 2 * t])))
        ),
        0.0,
        np.sum(W * [[1, 0], [2, 0]]),
        note="within the rank",
    ),
    HardPoint(
        "`eigvalsh(a) @ w` of equal eigenvalues: the sum of cubes",
        lambda t: jnp.sum(jnp.linalg.eigvalsh(C * ONE + t * S) ** 3),
        0.0,
        3 * C**2 * np.trace(S),
        6 * C * np.trace(S @ S),
    ),
    HardPoint(
        "`(v * exp(w)) @ v.T` of `eigh` at equal eigenvalues",
        curve(of_factors(lambda w, v: (v * jnp.exp(w)) @ v.T), C * ONE, S, WS),
        0.0,
        np.exp(C) * np.sum(WS * S),
        np.exp(C) * np.sum(WS * (S @ S)),
    ),
    HardPoint(
        "`(v * sqrt(w)) @ v.T` of `eigh` at equal eigenvalues",
        curve(of_factors(lambda w, v: (v * jnp.sqrt(w)) @ v.T), C * ONE, S, WS),
        0.0,
        0.5 * C**-0.5 * np.sum(WS * S),
        -0.25 * C**-1.5 * np.sum(WS * (S @ S)),
    ),
    HardPoint(
        "`u @ vh` of `svd` at equal singular values",
        curve(singular(lambda u, s, vh: u @ vh), 2 * ONE, E),
        0.0,
        np.sum(W * POLAR_SLOPE),
        np.sum(W * POLAR_BEND),
    ),
    HardPoint(
        "`(u * s) @ vh` of `svd` at equal singular values",
        curve(singular(lambda u, s, vh: (u * s) @ vh), 2 * ONE, E),
        0.0,
        np.sum(W * E),
        0.0,
    ),
    HardPoint(
        "`norm(a, 'nuc')` at equal singular values",
        lambda t: jnp.linalg.norm(2 * ONE + t * E, "nuc"),
        0.0,
        np.trace(E),
        np.sum((E - E.T) ** 2) / 4 / 2.0,
    ),
    HardPoint(
        "`eigvals` of equal eigenvalues: the sum of cubes",
        lambda t: jnp.sum(jnp.linalg.eigvals(C * ONE + t * E) ** 3).real,
        0.0,
        3 * C**2 * np.trace(E),
        6 * C * np.trace(E @ E),
    ),
]  # fmt: skip

HARD_POINTS = [*WHERE, *ELEMENTWISE, *MATRICES]


def derivatives(row: HardPoint) -> dict[str, np.ndarray]:
    """Returns the gradient in each mode, and the second derivatives."""

    @olympus.jit
    def compute(point: Any) -> dict[str, Any]:
        found = {
            "forward": olympus.jacfwd(row.function)(point),
            "reverse": olympus.grad(row.function)(point),
        }
        if row.bend is not None:
            found["second order"] = olympus.hessian(row.function)(point)
        return found

    return {mode: np.asarray(value) for mode, value in compute(jnp.asarray(row.point)).items()}


def expected(row: HardPoint) -> dict[str, np.ndarray]:
    """Returns the analytic values."""
    shape = np.shape(row.point)
    values = {mode: np.broadcast_to(row.slope, shape) for mode in ("forward", "reverse")}
    if row.bend is not None:
        values["second order"] = np.broadcast_to(row.bend, shape * 2)
    return values


def verdict(found: np.ndarray, right: np.ndarray) -> str:
    """Classifies a value as right, NaN, infinite, or wrong."""
    if np.allclose(found, right, rtol=1e-6, atol=1e-6):
        return "right"
    if np.isnan(found).any():
        return "NaN"
    return "infinite" if np.isinf(found).any() else "wrong"


HEAD = """# Derivatives at hard points

The formula of a derivative can fail at a point where the derivative exists, because it multiplies infinity
by zero or divides zero by zero. By default OLYMPUS returns what JAX returns, since programs depend on it.
With the flag `olympus_strong_zeros`, derivatives are finite and right at these points, in forward mode, in
reverse mode and in second order:

```python
import olympus
import olympus.numpy as jnp

olympus.config.update("olympus_strong_zeros", True)  # or: with olympus.strong_zeros(True):
olympus.grad(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))(0.0)  # 0
```

With the flag, zero times infinity is zero in products with tangents and cotangents, whichever factor is
zero. Sums of products (`dot_general`, convolutions) are excepted. `norm` and `arctan2` have the derivative
zero at zero. Singular matrices have Cholesky factors.

OLYMPUS recognizes these functions of the results of `eigh`, `svd` and `eigvals` before it differentiates:
`(v * g(w)) @ v.T`, `v @ jnp.diag(g(w)) @ v.T`, `v @ (g(w) * (v.T @ b))`, the same with `einsum` and with
`u`, `s` and `vh`, and `jnp.sum(g(w))`. Their derivatives of any order are exact even where eigenvalues or
singular values are equal. There are two conditions. `g` may contain constants, but no other values that are
differentiated. Both factors of the product must be computed in the same function, outside of loops. In
other expressions, equal values are perturbed by a relative 1.5e-8 in double precision: first derivatives then
have seven digits, and second derivatives are infinite.

Independently of the flag, `jnp.linalg.matrix_function(g, a)` computes V g(w) V^H for Hermitian matrices, with
exact derivatives of any order. Derivatives of `polar`, `sqrtm`, `logm` and `expm` are also exact.

Infinite derivatives remain infinite, for example that of `sqrt(x)` at zero. At ties the derivative is a
convention, which the table states. Its value lies between the one-sided derivatives.

`nox -s hard-points` writes this page, and `integration_tests/test_hard_points.py` checks each value to 1e-6
in double precision. A dash marks a second derivative that does not exist.

| function and point | forward | reverse | second order | by default | convention |
|---|---|---|---|---|---|
"""


def page() -> str:
    """Returns the text of the page."""
    lines = []
    with olympus.enable_x64(True):
        for row in HARD_POINTS:
            words = []
            right = expected(row)
            for is_strong in (True, False):
                with olympus.strong_zeros(is_strong):
                    found = derivatives(row)
                words.append({mode: verdict(found[mode], right[mode]) for mode in right})
            strong, usual = words
            default = sorted(set(usual.values()))
            summary = "right" if default == ["right"] else ", ".join(default)
            lines.append(
                f"| {row.name} | {strong['forward']} | {strong['reverse']} "
                f"| {strong.get('second order', '—')} | {summary} | {row.note} |"
            )
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Writes the page, or compares its rows with ``--check``."""
    parser = argparse.ArgumentParser(prog="hard_points")
    parser.add_argument("--check", action="store_true", help="only compare the rows with the page")
    if parser.parse_args().check:
        text = PAGE.read_text(encoding="utf-8")
        names = [line.split(" | ")[0][2:] for line in text[len(HEAD) :].splitlines()]
        if not text.startswith(HEAD) or names != [row.name for row in HARD_POINTS]:
            raise SystemExit(f"{PAGE} is stale: run nox -s hard-points")
        return
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
