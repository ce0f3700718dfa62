# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.optimize.minimization import OptimizeResults as OptimizeResults
from olympus_scipy.optimize.minimization import minimize as minimize
import olympus_scipy.optimize.bfgs as bfgs
import olympus_scipy.optimize.lbfgs as lbfgs
import olympus_scipy.optimize.line_search as line_search
import olympus_scipy.optimize.minimization as minimization
