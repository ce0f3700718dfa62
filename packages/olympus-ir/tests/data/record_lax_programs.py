# SPDX-License-Identifier: Apache-2.0
"""Records what jax 0.10.2 makes of the expressions of lax_programs.py, for lax/test_programs.py.

Run with the interpreter of an environment that has jax 0.10.2:

    python record_lax_programs.py > lax_programs.json

The record maps expressions to the text of the jaxpr and, after it, the results' weak types, one
letter each; or to the name of the exception.
"""

import json
import sys
import warnings

import jax
import lax_programs

warnings.simplefilter("ignore")


def program_of(expression):
    fun, args = lax_programs.function_of(expression, jax.lax)
    try:
        jaxpr = jax.make_jaxpr(fun)(*args)
    except Exception as error:
        return type(error).__name__
    weak_types = "".join("w" if aval.weak_type else "-" for aval in jaxpr.out_avals)
    return f"{jaxpr.pretty_print()} {weak_types}"


assert jax.__version__ == "0.10.2"
programs = {expression: program_of(expression) for expression in lax_programs.EXPRESSIONS}
json.dump(programs, sys.stdout, indent=1)
print()
