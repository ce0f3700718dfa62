# SPDX-License-Identifier: Apache-2.0
"""Lowering for several platforms at once: one program that branches where their rules differ."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.lax.callbacks import debug_print
from olympus_ir.programs.primitives import Primitive
from olympus_testing import cases
from olympus_xla import jit
from olympus_xla.compiling.lowering.tables import (
    define_for_platform,
    lowering_rules,
    nary,
    platform_rules,
)

X = np.ones((3, 4), np.float32)
ALL = ("cpu", "cuda", "tpu")

# A primitive that is a different operation on each platform.
differing_p = Primitive("differing")
differing_p.def_abstract_eval(lambda x: x)
lowering_rules.define(differing_p, nary("stablehlo.tanh"))
define_for_platform(differing_p, "cpu", nary("stablehlo.sine"))
define_for_platform(differing_p, "tpu", nary("stablehlo.cosine"))

# One that only CPUs have.
cpu_only_p = Primitive("cpu_only")
cpu_only_p.def_abstract_eval(lambda x: x)
define_for_platform(cpu_only_p, "cpu", nary("stablehlo.sine"))


def lowered(function, *args, platforms=ALL):
    stage = jit(function).lower(*args, lowering_platforms=platforms)
    assert stage.compiler_ir().operation.verify()
    return stage


# What no routine of the platform's libraries computes; `qr` and `tridiagonal_solve` with pivoting.
ONLY_ELSEWHERE = {
    "cuda": {"schur", "tridiagonal_solve"},
    "tpu": {"eig", "geqp3", "qr", "schur", "tridiagonal_solve"},
}


def has_routine(case, platform):
    """Whether a platform has the routine for a case; where not, it is refused by name."""
    if case.primitive.name not in ONLY_ELSEWHERE.get(platform, ()):
        return True
    try:
        jit(case.run).lower(*case.args, lowering_platforms=(platform,))
    except NotImplementedError as error:
        text = str(error)
        assert (
            f"`{case.primitive.name}` cannot be lowered for {platform}" in text
            or (case.primitive.name == "qr" and "`geqp3` cannot be lowered" in text)
            or "perturb_singular=True is not supported on TPU" in text
        )
        return False
    return True


@pytest.mark.parametrize("case", cases(), ids=str)
def test_rules_lower_for_all_platforms(case):
    # TPUs have no way back into the interpreter.
    platforms = ("cpu", "cuda") if case.primitive.family == "callbacks" else ALL
    with case.context():
        platforms = [platform for platform in platforms if has_routine(case, platform)]
        if len(platforms) == 1:
            return
        text = lowered(case.run, *case.args, platforms=platforms).as_text()
    assert '{jax.global_constant = "_platform_index"}' in text


def test_branches_where_rules_differ():
    text = lowered(differing_p.bind, X).as_text()
    assert text.count("stablehlo.case") == 1
    for operation in ("sine", "cosine", "tanh"):
        assert text.count(f"stablehlo.{operation}") == 1
    assert "case" not in lowered(lax.sin, X).as_text()
    assert "case" not in lowered(differing_p.bind, X, platforms=("cuda", "rocm")).as_text()


def test_platform_index_in_functions_and_regions():
    inner = jit(lambda x: differing_p.bind(x))

    def function(x, n):
        x = inner(inner(x))
        x = lax.fori_loop(0, n, lambda i, x: differing_p.bind(x), x)
        return lax.cond(n > 2, inner, lambda x: x, x)

    text = lowered(function, X, 3).as_text()
    assert text.count("call @_lambda(%arg0, ") == 3


def test_one_platform_has_no_index():
    assert "platform_index" not in lowered(lax.sin, X, platforms=("tpu",)).as_text()
    assert "platform_index" not in lowered(lax.sin, X, platforms=("tpu", "tpu")).as_text()


def test_program_for_several_platforms_compiles_for_cpu():
    stage = lowered(differing_p.bind, X)
    assert np.allclose(stage.compile()(X), np.sin(X))


def test_program_for_other_platforms_does_not_compile():
    with pytest.raises(ValueError, match="lowered for cuda, tpu and cannot be compiled for cpu"):
        lowered(differing_p.bind, X, platforms=("cuda", "tpu")).compile()


def test_missing_rules_name_the_platform():
    lowered(cpu_only_p.bind, X, platforms=("cpu",))
    with pytest.raises(
        MissingRuleError, match="rule for primitive 'cpu_only' not found for platform cuda, tpu"
    ):
        lowered(cpu_only_p.bind, X)
    with pytest.raises(MissingRuleError, match="rule for primitive 'cpu_only' not found"):
        lowered(cpu_only_p.bind, X, platforms=("cuda",))


def test_one_rule_a_platform():
    with pytest.raises(ValueError, match="differing has a cpu lowering rule already"):
        define_for_platform(differing_p, "cpu", nary("stablehlo.sine"))
    assert differing_p in platform_rules["cpu"]


def test_ordered_callbacks_run_on_every_platform():
    def function(x):
        debug_print("first {}", x, ordered=True)
        x = differing_p.bind(x)
        debug_print("second", ordered=True)
        return x

    text = lowered(function, X, platforms=("cpu", "cuda")).as_text()
    assert text.count("xla_ffi_python_cpu_callback") == 2
    assert text.count("xla_ffi_python_gpu_callback") == 2
    assert text.count("-> !stablehlo.token") >= 2
    with pytest.raises(NotImplementedError, match="callbacks cannot be lowered for tpu"):
        lowered(function, X)


def test_invalid_platforms_raise():
    for bad in ("cpu", [3]):
        with pytest.raises(TypeError, match="must be a sequence of platforms' names"):
            jit(lax.sin).lower(X, lowering_platforms=bad)
    with pytest.raises(ValueError, match="lowering_platforms is empty"):
        jit(lax.sin).lower(X, lowering_platforms=())
