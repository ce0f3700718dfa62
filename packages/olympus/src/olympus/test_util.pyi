# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff.reverse.derivative_checks import check_grads as check_grads
from olympus_autodiff.reverse.derivative_checks import check_jvp as check_jvp
from olympus_autodiff.reverse.derivative_checks import check_vjp as check_vjp
