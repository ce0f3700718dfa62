# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.ode.solver import odeint as odeint
from olympus_scipy.ode.steps import abs2 as abs2
from olympus_scipy.ode.steps import fit_4th_order_polynomial as fit_4th_order_polynomial
from olympus_scipy.ode.steps import initial_step_size as initial_step_size
from olympus_scipy.ode.steps import interp_fit_dopri as interp_fit_dopri
from olympus_scipy.ode.steps import mean_error_ratio as mean_error_ratio
from olympus_scipy.ode.steps import optimal_step_size as optimal_step_size
from olympus_scipy.ode.steps import ravel_first_arg as ravel_first_arg
from olympus_scipy.ode.steps import ravel_first_arg_ as ravel_first_arg_
from olympus_scipy.ode.steps import runge_kutta_step as runge_kutta_step
import olympus.api_util as api_util
