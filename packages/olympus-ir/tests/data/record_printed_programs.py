# SPDX-License-Identifier: Apache-2.0
"""Records how jax 0.10.2 prints the programs of printed_programs.py, for test_printer.py.

Run with the interpreter of an environment that has jax 0.10.2:

    python record_printed_programs.py > printed_programs.json

The record maps names of programs to the text of the jaxpr. In source positions ``<programs>``
stands for the path of printed_programs.py.
"""

import json
import sys
from types import SimpleNamespace

import jax
import printed_programs
from jax.experimental import io_callback

namespace = SimpleNamespace(
    lax=jax.lax,
    jit=jax.jit,
    named_scope=jax.named_scope,
    debug_print=jax.debug.print,
    pure_callback=jax.pure_callback,
    io_callback=io_callback,
)


def text_of(make):
    fun, args, *keywords = make(namespace)
    make_keywords, print_keywords = [*keywords, {}, {}][:2]
    jaxpr = jax.make_jaxpr(fun, **make_keywords)(*args)
    return jaxpr.pretty_print(**print_keywords).replace(printed_programs.__file__, "<programs>")


assert jax.__version__ == "0.10.2"
texts = {name: text_of(make) for name, make in printed_programs.PROGRAMS.items()}
json.dump(texts, sys.stdout, indent=1)
print()
