# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff import CustomVJPPrimal as CustomVJPPrimal
from olympus_autodiff import SymbolicZero as SymbolicZero
from olympus_autodiff import custom_jvp as custom_jvp
from olympus_autodiff import custom_vjp as custom_vjp
from olympus_autodiff.custom.closures import closure_convert as closure_convert
from olympus_autodiff.custom.closures import custom_gradient as custom_gradient
from olympus_autodiff.custom.custom_vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from olympus_autodiff.custom.custom_vjp import zero_from_primal as zero_from_primal
from olympus_autodiff.custom.forward_calls import remat_opt_p as remat_opt_p
from olympus_autodiff.custom.linear_call import linear_call as linear_call
from olympus_ir.lax.calls.primitives import custom_jvp_call_p as custom_jvp_call_p
from olympus_ir.lax.calls.primitives import custom_vjp_call_p as custom_vjp_call_p
