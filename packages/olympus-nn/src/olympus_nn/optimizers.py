# SPDX-License-Identifier: Apache-2.0
"""A small library of first-order optimizers.

An optimizer consists of three functions. ``init_fn(params)`` returns the first state,
``update_fn(step, grads, state)`` returns the next state, and ``params_fn(state)`` returns the
parameters in a state. Parameters are any pytree. A step size may be a number, or a schedule: a
function from the index of the step to the step size.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike, PyTree

__all__ = [
    "Array",
    "InitFn",
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Params",
    "ParamsFn",
    "Schedule",
    "State",
    "Step",
    "UpdateFn",
    "Updates",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]

# NumPy arrays, numbers and tracers are operands, too.
Array = Any
Params = Any
State = Any
Updates = Any
Step = int
Schedule = Callable[[Step], ArrayLike]
InitFn = Callable[[Params], "OptimizerState"]
UpdateFn = Callable[[Step, Updates, "OptimizerState"], "OptimizerState"]
ParamsFn = Callable[["OptimizerState"], Params]


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


# The fields are the leaves of the states of all parameters, the structure of the parameters, and
# the structures of the states.
OptimizerState = namedtuple("OptimizerState", ["packed_state", "tree_def", "subtree_defs"])
pytrees.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


# ---- from one array to a pytree ----


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorates the maker of an optimizer of one array, so that it makes an optimizer of pytrees.

    Args:
      opt_maker: a function that returns ``init(x)``, ``update(step, grad, state)`` and
        ``get_params(state)``, for one array ``x`` and a state that is a pytree.

    Returns:
      A maker that takes the arguments of ``opt_maker`` and returns an `Optimizer`.

    Example:
      >>> @optimizer
      ... def descent(rate):
      ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
      >>> init, update, params = descent(0.5)
      >>> params(update(0, {"a": 2.0}, init({"a": 1.0})))
      {'a': 0.0}
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @api_boundary
        def init_tree(params: Params) -> Any:
            leaves, tree_def = pytrees.tree_flatten(params)
            packed_state, subtree_defs = _flatten_each([init(leaf) for leaf in leaves])
            return OptimizerState(packed_state, tree_def, subtree_defs)

        @api_boundary
        def update_tree(step: Step, grads: Updates, state: Any) -> Any:
            packed_state, tree_def, subtree_defs = state
            grad_leaves, grad_def = pytrees.tree_flatten(grads)
            if grad_def != tree_def:
                raise TypeError(
                    "optimizer update function was passed a gradient tree that did not match the "
                    "parameter tree structure with which it was initialized: parameter tree "
                    f"{tree_def} and grad tree {grad_def}."
                )
            states = map(pytrees.tree_unflatten, subtree_defs, packed_state)
            news = [update(step, grad, slots) for grad, slots in zip(grad_leaves, states)]
            new_packed_state, new_subtree_defs = _flatten_each(news)
            for new, old in zip(new_subtree_defs, subtree_defs):
                if new != old:
                    raise TypeError(
                        "optimizer update function produced an output structure that did not "
                        f"match its input structure: input {old} and output {new}."
                    )
            return OptimizerState(new_packed_state, tree_def, subtree_defs)

        @api_boundary
        def params_tree(state: Any) -> Params:
            packed_state, tree_def, subtree_defs = state
            states = map(pytrees.tree_unflatten, subtree_defs, packed_state)
            return pytrees.tree_unflatten(tree_def, map(get_params, states))

        return Optimizer(init_tree, update_tree, params_tree)

    return make


def _flatten_each(trees: list[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    flattened = [pytrees.tree_flatten(tree) for tree in trees]
    return tuple(leaves for leaves, _ in flattened), tuple(tree_def for _, tree_def in flattened)


# ---- optimizers ----


@optimizer
def sgd(step_size: ArrayLike | Schedule) -> Any:
    """Stochastic gradient descent.

    Args:
      step_size: a number, or a function from the step to a number.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = sgd(0.5)
      >>> params(update(0, 2.0, init(1.0)))
      0.0
    """
    schedule = make_schedule(step_size)

    def update(step: Step, grad: Any, x: Any) -> Any:
        return x - schedule(step) * grad

    return lambda x: x, update, lambda x: x


@optimizer
def momentum(step_size: ArrayLike | Schedule, mass: float) -> Any:
    """Gradient descent with momentum.

    Args:
      step_size: a number, or a function from the step to a number.
      mass: the fraction of the velocity that a step keeps.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = momentum(0.5, mass=0.9)
      >>> float(params(update(0, 2.0, init(1.0))))
      0.0
    """
    schedule = make_schedule(step_size)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + grad
        return x - schedule(step) * velocity, velocity

    return lambda x: (x, onp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: ArrayLike | Schedule, mass: float) -> Any:
    """Gradient descent with Nesterov's momentum.

    Args:
      step_size: a number, or a function from the step to a number.
      mass: the fraction of the velocity that a step keeps.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = nesterov(0.5, mass=0.0)
      >>> float(params(update(0, 2.0, init(1.0))))
      0.0
    """
    schedule = make_schedule(step_size)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + grad
        return x - schedule(step) * (mass * velocity + grad), velocity

    return lambda x: (x, onp.zeros_like(x)), update, _first


@optimizer
def adagrad(step_size: ArrayLike | Schedule, momentum: float = 0.9) -> Any:
    """Gradient descent with steps divided by the root of the sum of all squared gradients.

    Duchi, Hazan, Singer: Adaptive subgradient methods for online learning and stochastic
    optimization. JMLR 12 (2011).

    Args:
      step_size: a number, or a function from the step to a number.
      momentum: the fraction of the previous direction that a step keeps.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = adagrad(0.5, momentum=0.0)
      >>> float(params(update(0, 2.0, init(1.0))))
      0.5
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, onp.zeros_like(x), onp.zeros_like(x)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, squares, direction = state
        squares = squares + onp.square(grad)
        inverse = onp.where(squares > 0, 1.0 / onp.sqrt(squares), 0.0)
        direction = (1.0 - momentum) * (grad * inverse) + momentum * direction
        return x - schedule(step) * direction, squares, direction

    return init, update, _first


@optimizer
def rmsprop(step_size: ArrayLike | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Gradient descent with steps divided by the root of a running mean of squared gradients.

    Args:
      step_size: a number, or a function from the step to a number.
      gamma: the fraction of the mean that a step keeps.
      eps: a small number added to the mean.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = rmsprop(0.5, gamma=0.0)
      >>> float(params(update(0, 2.0, init(1.0))))
      0.5
    """
    schedule = make_schedule(step_size)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, mean_square = state
        mean_square = mean_square * gamma + onp.square(grad) * (1.0 - gamma)
        return x - schedule(step) * grad / onp.sqrt(mean_square + eps), mean_square

    return lambda x: (x, onp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: ArrayLike | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """`rmsprop` with momentum.

    Args:
      step_size: a number, or a function from the step to a number.
      gamma: the fraction of the mean of squares that a step keeps.
      eps: a small number added to the mean.
      momentum: the fraction of the velocity that a step keeps.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = rmsprop_momentum(0.5, gamma=0.0)
      >>> float(params(update(0, 2.0, init(1.0))))
      0.5
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, onp.zeros_like(x), onp.zeros_like(x)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, mean_square, velocity = state
        mean_square = mean_square * gamma + onp.square(grad) * (1.0 - gamma)
        change = schedule(step) * grad / onp.sqrt(mean_square + eps)
        velocity = momentum * velocity + change
        return x - velocity, mean_square, velocity

    return init, update, _first


@optimizer
def adam(
    step_size: ArrayLike | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Any:
    """Descent by running means of the gradients and of their squares (Kingma and Ba, 2014).

    Args:
      step_size: a number, or a function from the step to a number.
      b1: the fraction of the mean that a step keeps.
      b2: the fraction of the mean of squares that a step keeps.
      eps: a small number added to the root of the mean of squares.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = adam(0.5)
      >>> round(float(params(update(0, 2.0, init(1.0)))), 4)
      0.5
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, onp.zeros_like(x), onp.zeros_like(x)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, mean, mean_square = state
        mean = (1 - b1) * grad + b1 * mean
        mean_square = (1 - b2) * onp.square(grad) + b2 * mean_square
        # The divisions correct the bias of means that begin at zero.
        unbiased = mean / (1 - onp.asarray(b1, mean.dtype) ** (step + 1))
        unbiased_square = mean_square / (1 - onp.asarray(b2, mean.dtype) ** (step + 1))
        x = x - schedule(step) * unbiased / (onp.sqrt(unbiased_square) + eps)
        return x, mean, mean_square

    return init, update, _first


@optimizer
def adamax(
    step_size: ArrayLike | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Any:
    """`adam` with a running maximum of the gradients in place of the mean of squares.

    Args:
      step_size: a number, or a function from the step to a number.
      b1: the fraction of the mean that a step keeps.
      b2: the fraction of the maximum that a step keeps.
      eps: a small number added to the maximum.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = adamax(0.5)
      >>> round(float(params(update(0, 2.0, init(1.0)))), 4)
      0.5
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, onp.zeros_like(x), onp.zeros_like(x)

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * grad + b1 * mean
        largest = onp.maximum(b2 * largest, onp.abs(grad))
        rate = schedule(step) / (1 - onp.asarray(b1, mean.dtype) ** (step + 1))
        return x - rate * mean / (largest + eps), mean, largest

    return init, update, _first


@optimizer
def sm3(step_size: ArrayLike | Schedule, momentum: float = 0.9) -> Any:
    """`adagrad` with a vector along each dimension in place of the array of sums of squares.

    Anil, Gupta, Koren, Singer: Memory-efficient adaptive optimization. NeurIPS 2019.

    Args:
      step_size: a number, or a function from the step to a number.
      momentum: the fraction of the previous direction that a step keeps.

    Returns:
      The `Optimizer`.

    Example:
      >>> init, update, params = sm3(0.5, momentum=0.0)
      >>> params(update(0, onp.ones((2, 2)), init(onp.ones((2, 2))))).tolist()
      [[0.5, 0.5], [0.5, 0.5]]
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        shape = np.shape(x)
        dtype = onp.result_type(x)
        sums = [onp.zeros(size, dtype) for size in shape or (1,)]
        return x, onp.zeros_like(x), sums, shape

    def update(step: Step, grad: Any, state: Any) -> Any:
        x, direction, sums, shape = state
        ndim = len(sums)
        others = [
            tuple(axis for axis in range(ndim) if axis != own_axis) for own_axis in range(ndim)
        ]
        bound = functools.reduce(onp.minimum, map(onp.expand_dims, sums, others))
        squares = onp.reshape(bound, np.shape(x)) if np.ndim(x) == 0 else bound
        squares = squares + onp.square(grad)
        inverse = onp.where(squares > 0, 1.0 / onp.sqrt(squares), 0)
        direction = (1.0 - momentum) * (grad * inverse) + momentum * direction
        x = x - schedule(step) * direction
        squares = onp.atleast_1d(squares)
        new_sums = [onp.max(squares, axis=axes) if axes else squares for axes in others]
        return x, direction, new_sums, shape

    return init, update, _first


def _first(state: Any) -> Any:
    return state[0]


# ---- schedules ----


def constant(step_size: ArrayLike) -> Schedule:
    """Returns the schedule of a constant step size.

    Example:
      >>> constant(0.5)(7)
      0.5
    """

    @api_boundary
    def schedule(step: Step) -> Any:
        return step_size

    return schedule


def exponential_decay(
    step_size: ArrayLike, decay_steps: ArrayLike, decay_rate: ArrayLike
) -> Schedule:
    """Returns the schedule ``step_size * decay_rate ** (step / decay_steps)``.

    Example:
      >>> exponential_decay(1.0, 10, 0.5)(20)
      0.25
    """

    @api_boundary
    def schedule(step: Step) -> Any:
        return step_size * decay_rate ** (step / decay_steps)

    return schedule


def inverse_time_decay(
    step_size: ArrayLike, decay_steps: ArrayLike, decay_rate: ArrayLike, staircase: bool = False
) -> Schedule:
    """Returns the schedule ``step_size / (1 + decay_rate * step / decay_steps)``.

    Args:
      step_size: the first step size.
      decay_steps: the number of steps in which the denominator grows by ``decay_rate``.
      decay_rate: the growth of the denominator in ``decay_steps`` steps.
      staircase: whether the denominator grows only once every ``decay_steps`` steps.

    Returns:
      A function of the step's index.

    Example:
      >>> inverse_time_decay(1.0, 10, 0.5)(20)
      0.5
    """

    @api_boundary
    def in_stairs(step: Step) -> Any:
        return step_size / (1 + decay_rate * onp.floor(step / decay_steps))

    @api_boundary
    def schedule(step: Step) -> Any:
        return step_size / (1 + decay_rate * step / decay_steps)

    return in_stairs if staircase else schedule


def polynomial_decay(
    step_size: ArrayLike,
    decay_steps: Any,
    final_step_size: ArrayLike,
    power: Any = 1.0,
) -> Schedule:
    """Returns the schedule from ``step_size`` to ``final_step_size`` in ``decay_steps`` steps.

    The distance from the final step size is proportional to the fraction of steps that remain,
    raised to ``power``.

    Example:
      >>> float(polynomial_decay(1.0, 10, 0.0)(5))
      0.5
    """

    @api_boundary
    def schedule(step: Step) -> Any:
        remaining = (1 - onp.minimum(step, decay_steps) / decay_steps) ** power
        return remaining * onp.subtract(step_size, final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Returns a piecewise constant schedule.

    The step size is ``values[i]`` for steps above ``boundaries[i - 1]``, up to ``boundaries[i]``.

    Raises:
      ValueError: the number of values is not the number of boundaries plus one.

    Example:
      >>> float(piecewise_constant([10], [1.0, 0.5])(11))
      0.5
    """
    boundaries, values = onp.array(boundaries), onp.array(values)
    if boundaries.ndim != 1 or values.ndim != 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")

    @api_boundary
    def schedule(step: Step) -> Any:
        return values[onp.sum(step > boundaries)]

    return schedule


def make_schedule(scalar_or_schedule: ArrayLike | Schedule) -> Schedule:
    """Returns a schedule unchanged, and converts a scalar to a constant schedule.

    Raises:
      TypeError: the argument is neither a scalar nor a schedule.

    Example:
      >>> make_schedule(0.5)(7)
      0.5
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "A step size must be a scalar or a function from a step to one, got "
        f"{type(scalar_or_schedule)}."
    )


# ---- gradients ----


def l2_norm(tree: PyTree) -> Any:
    """Returns the Euclidean norm of all numbers of a pytree.

    Example:
      >>> float(l2_norm([3.0, 4.0]))
      5.0
    """
    return onp.sqrt(sum(onp.vdot(x, x) for x in pytrees.tree_leaves(tree)))


def clip_grads(grad_tree: PyTree, max_norm: ArrayLike) -> PyTree:
    """Scales a pytree down if its `l2_norm` is above a limit.

    Example:
      >>> [round(float(x), 2) for x in clip_grads([3.0, 4.0], 1.0)]
      [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)

    def clip(grad: Any) -> Any:
        return onp.where(norm < max_norm, grad, grad * (max_norm / norm))

    return pytrees.tree_map(clip, grad_tree)


# ---- states as pytrees for storage ----


class JoinPoint:
    """Marker of a parameter's state in the pytree of parameters."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: Any) -> Any:
    """Converts a state to a pytree that has a `JoinPoint` for each parameter.

    Example:
      >>> unpack_optimizer_state(sgd(0.1).init_fn({"a": 1.0}))["a"].subtree
      1.0
    """
    packed_state, tree_def, subtree_defs = opt_state
    states = map(pytrees.tree_unflatten, subtree_defs, packed_state)
    return pytrees.tree_unflatten(tree_def, map(JoinPoint, states))


def pack_optimizer_state(marked_pytree: Any) -> Any:
    """Converts the result of `unpack_optimizer_state` back to a state.

    Raises:
      TypeError: a leaf is not a `JoinPoint`.

    Example:
      >>> marked = unpack_optimizer_state(sgd(0.1).init_fn({"a": 1.0}))
      >>> pack_optimizer_state(marked).packed_state
      ([1.0],)
    """
    sentinels, tree_def = pytrees.tree_flatten(marked_pytree)
    for sentinel in sentinels:
        if not isinstance(sentinel, JoinPoint):
            raise TypeError(
                "pack_optimizer_state accepts results of unpack_optimizer_state: expected every "
                f"leaf to be a JoinPoint, got {type(sentinel)}."
            )
    packed_state, subtree_defs = _flatten_each([sentinel.subtree for sentinel in sentinels])
    return OptimizerState(packed_state, tree_def, subtree_defs)
