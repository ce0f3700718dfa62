# SPDX-License-Identifier: Apache-2.0
"""The calls whose results are recorded, in a form that is written to and read from JSON.

A call consists of the name of a function, the seed of its key, and its arguments. An array argument
is a dictionary with its ``values`` and ``dtype``.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def array(values: Any, dtype: str = "float32") -> dict[str, Any]:
    return {"values": values, "dtype": dtype}


def draw(function: str, *args: Any, seed: int = 0, **kwargs: Any) -> dict[str, Any]:
    options = {
        name: kwargs.pop(name) for name in ("partitionable", "x64", "impl") if name in kwargs
    }
    return {"function": function, "seed": seed, "args": list(args), "kwargs": kwargs, **options}


def _argument(value: Any) -> Any:
    if isinstance(value, dict):
        dtype = getattr(ml_dtypes, value["dtype"], value["dtype"])
        return np.asarray(value["values"], np.dtype(dtype))
    if isinstance(value, list):
        return tuple(value)
    return value


def arguments(draw: dict[str, Any], random: Any) -> tuple[list[Any], dict[str, Any]]:
    """Returns the arguments of a recorded call, for a library's module ``random``."""
    args = [_argument(value) for value in draw["args"]]
    kwargs = {name: _argument(value) for name, value in draw["kwargs"].items()}
    impl = draw.get("impl")
    if draw["function"] in ("key", "PRNGKey"):
        return [draw["seed"], *args], kwargs if impl is None else {**kwargs, "impl": impl}
    key = random.key(draw["seed"]) if impl is None else random.key(draw["seed"], impl=impl)
    return [key, *args], kwargs


P5 = array([0.1, 0.2, 0.3, 0.25, 0.15])
LOGITS = array([[0.0, 1.0, -1.0, 0.5], [2.0, 0.0, 0.0, -3.0], [0.1, 0.2, 0.3, 0.4]])
GRID = array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], "int32")

KEYS = [
    *(draw("key", seed=seed) for seed in (0, 43, -1, 2**31 - 1, 2**32 + 5, -(2**63))),
    *(draw("key", seed=seed, x64=True) for seed in (43, -1, 2**32 + 5, 2**63 - 1)),
    draw("PRNGKey", seed=7),
    draw("split", seed=1),
    draw("split", 5, seed=1),
    draw("split", [2, 3], seed=1),
    draw("fold_in", 3, seed=1),
    draw("fold_in", 2**32 - 1, seed=1),
]

BITS = [
    *(draw("bits", [7], name, seed=3) for name in ("uint8", "uint16", "uint32")),
    draw("bits", seed=3),
    draw("bits", [2, 3, 5], seed=3),
    draw("bits", [0, 3], seed=3),
    draw("bits", [3, 3], "uint64", seed=3, x64=True),
]

UNIFORM = [
    draw("uniform", [1000]),
    draw("uniform"),
    draw("uniform", 3),
    *(draw("uniform", [33], name) for name in ("float16", "bfloat16")),
    draw("uniform", [33], "float64", x64=True),
    draw("uniform", [2, 3], minval=-3.0, maxval=5),
    draw("uniform", [2, 3], minval=array([0.0, 1.0, 2.0]), maxval=array([[7], [8]], "int32")),
]

RANDINT = [
    *(
        draw("randint", [50], low, high, name, seed=5)
        for name, low, high in (
            ("int8", -128, 128),
            ("int8", -100, 27),
            ("int8", 0, 300),
            ("uint8", 0, 256),
            ("uint8", 3, 7),
            ("int16", -(2**15), 2**15 - 1),
            ("uint16", 0, 2**16),
            ("int32", -(2**31), 2**31 - 1),
            ("int32", 0, 10),
            ("uint32", 5, 2**31 - 1),
            ("uint32", -7, 11),
        )
    ),
    draw("randint", [4], 5, 3),
    draw("randint", [4], 0.5, 3.7),
    draw("randint", [], 0, 1000),
    draw("randint", [2, 3], array([0, 10, 20], "int32"), array([[30], [40]], "int32")),
    draw("randint", [20], 0, 2**60, x64=True),
    draw("randint", [20], -(2**63), 2**63 - 1, x64=True),
    draw("randint", [20], 0, 2**31, "int32", x64=True),
]

CONTINUOUS = [
    draw("normal", [1000]),
    draw("normal", seed=9),
    *(draw("normal", [33], name) for name in ("float16", "bfloat16", "complex64")),
    draw("normal", [33], "float64", x64=True),
    draw("normal", [33], "complex128", x64=True),
    draw("truncated_normal", -2, 2, [100]),
    draw("truncated_normal", array([0.0, 1.0, -5.0]), 1.5),
    draw("truncated_normal", array([-1.0]), array([[0.5], [1.5]]), [2, 4]),
    *(
        draw(name, [200])
        for name in ("exponential", "laplace", "gumbel", "logistic", "cauchy", "maxwell")
    ),
    *(draw(name, [20], "float16") for name in ("exponential", "laplace", "gumbel", "logistic")),
    draw("gumbel", [200], mode="high"),
    draw("lognormal", 0.5, [20]),
    draw("lognormal", array([0.5, 2.0]), [3, 2]),
    draw("pareto", 2.0, [20]),
    draw("pareto", array([1.0, 3.0])),
    draw("rayleigh", 2.0, [20]),
    draw("weibull_min", 2.0, 3.0, [20]),
    draw("double_sided_maxwell", 1.0, 2.0, [20]),
    draw("triangular", -1.0, 0.25, 2.0, [20]),
    draw("triangular", array([0.0, 1.0]), 1.5, 2.0, [4, 2]),
    draw("wald", 1.5, [20]),
]

DISCRETE = [
    draw("bernoulli"),
    draw("bernoulli", 0.3, [100]),
    draw("bernoulli", array([0.1, 0.9, 0.5]), [4, 3]),
    draw("bernoulli", array([0.25, 0.75], "float16")),
    draw("bernoulli", array([1e-3, 0.5]), [50, 2], mode="high"),
    draw("rademacher", [20]),
    draw("rademacher", [20], "float32"),
    draw("geometric", 0.2, [20]),
    draw("geometric", array([0.5, 0.01])),
    draw("categorical", LOGITS),
    draw("categorical", LOGITS, axis=0),
    draw("categorical", LOGITS, axis=0, shape=[5, 4]),
    draw("categorical", LOGITS, shape=[2, 5, 3]),
    draw("categorical", LOGITS, mode="high"),
    draw("categorical", LOGITS, replace=False),
    draw("categorical", LOGITS, shape=[2, 3], replace=False),
    draw("categorical", LOGITS, axis=0, shape=[3, 4], replace=False),
]

SHUFFLING = [
    draw("permutation", 10),
    draw("permutation", 3000, seed=2),
    draw("permutation", 0),
    draw("permutation", array([3.0, 1.0, 2.0])),
    draw("permutation", GRID),
    draw("permutation", GRID, 1),
    draw("permutation", GRID, -1),
    draw("permutation", GRID, 1, independent=True),
    draw("choice", 5),
    draw("choice", 5, [3, 4]),
    draw("choice", 5, [4], replace=False),
    draw("choice", 5, [30], p=P5),
    draw("choice", 5, [3], replace=False, p=P5),
    draw("choice", 5, [3], replace=False, p=P5, mode="high"),
    draw("choice", 5, [3], p=array([1, 2, 3, 4, 0], "int32")),
    draw("choice", GRID, [2]),
    draw("choice", GRID, [2, 5], axis=1),
    draw("choice", GRID, [2, 2], axis=1, replace=False),
    draw("choice", GRID, [2, 2], axis=-1, replace=False, p=array([0.1, 0.2, 0.3, 0.4])),
    draw("choice", array([0.5, 1.5, 2.5]), [6], p=array([0.2, 0.5, 0.3])),
    draw("choice", 0, [0]),
]

SHAPES = array([0.3, 1.0, 4.0])

GAMMA = [
    draw("gamma", SHAPES),
    draw("gamma", 2.5, [2]),
    draw("gamma", 2.5, [2], x64=True),
    draw("loggamma", array([1e-3, 0.5, 20.0])),
    draw("beta", SHAPES, 2.0),
    draw("dirichlet", SHAPES, [2]),
    draw("chisquare", 3.0, [2]),
    draw("t", 3.0, [2]),
    draw("f", 3.0, 2.0, [2]),
    draw("generalized_normal", 1.5, [2]),
    draw("ball", 3, 2, [2]),
    draw("gamma", SHAPES, impl="rbg"),
]

COUNTS = [
    draw("poisson", array([0.0, 0.5, 9.0, 30.0])),
    draw("poisson", 1e5, [2], "int16"),
    draw("binomial", 10, 0.3, [3]),
    draw("binomial", array([1000.0, -1.0]), 0.7),
    draw("multinomial", 20, array([0.2, 0.5, 0.3])),
]

OTHER_GENERATORS = [
    {**drawn, "impl": impl}
    for impl in ("rbg", "unsafe_rbg")
    for drawn in [
        draw("key", seed=43),
        draw("split", 3, seed=1),
        draw("split", [2, 3], seed=1),
        draw("fold_in", 3, seed=1),
        *(draw("bits", [7], name, seed=3) for name in ("uint8", "uint16", "uint32")),
        draw("bits", [2, 3], "uint64", seed=3, x64=True),
        draw("uniform", [5]),
        draw("normal", [2, 3]),
        draw("permutation", 10),
    ]
]

# Samples with the bits of all elements drawn in one sequence (`partitionable` is False).
IN_SEQUENCE = [
    {**drawn, "partitionable": False}
    for drawn in [
        draw("split", seed=1),
        draw("split", [2, 3], seed=1),
        draw("split", 7, seed=1),
        draw("fold_in", 3, seed=1),
        *(draw("bits", [7], name, seed=3) for name in ("uint8", "uint16", "uint32")),
        draw("bits", [2, 3, 4], seed=3),
        draw("bits", [3, 3], "uint64", seed=3, x64=True),
        draw("uniform", [33]),
        draw("uniform", [33], "bfloat16"),
        draw("normal", [2, 3]),
        draw("randint", [20], 0, 10),
        draw("permutation", 10),
        draw("categorical", LOGITS),
        draw("choice", 5, [3], replace=False),
    ]
]

DRAWS = [
    *KEYS,
    *BITS,
    *UNIFORM,
    *RANDINT,
    *CONTINUOUS,
    *DISCRETE,
    *SHUFFLING,
    *GAMMA,
    *COUNTS,
    *OTHER_GENERATORS,
    *IN_SEQUENCE,
]
