# SPDX-License-Identifier: Apache-2.0
"""Solution of ordinary differential equations."""

from olympus_scipy.ode.solver import odeint
from olympus_scipy.ode.steps import (
    abs2,
    fit_4th_order_polynomial,
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    ravel_first_arg,
    ravel_first_arg_,
    runge_kutta_step,
)

from .. import _lazy

__all__ = [
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "odeint",
    "optimal_step_size",
    "ravel_first_arg",
    "ravel_first_arg_",
    "runge_kutta_step",
]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {"api_util": "olympus"})
