# SPDX-License-Identifier: Apache-2.0
"""`explain` names the known cause of each repeated trace, by the path of the argument."""

from __future__ import annotations

import dataclasses
import functools
import gc
import subprocess
import sys
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_insight import explain
from olympus_ir.settings.config import default_matmul_precision
from olympus_ir.trees import pytrees
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding import AxisType, NamedSharding, make_mesh
from olympus_xla import jit
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import clear_caches

W = np.zeros((3, 4), np.float32)
X = np.ones(4, np.float32)
rate = 0.5


def step(params, x, flag=None):
    return params["w"] @ x


def of(compiled, *calls):
    """Returns the causes of the calls after the first, as pairs of kind and path."""
    with explain() as report:
        for args, kwargs in calls:
            compiled(*args, **kwargs)
    first, *later = report.traces  # earlier tests may have made functions by this line
    causes = [*(cause for each in first.recompilations for cause in each.causes)]
    causes += [cause for trace in later for cause in trace.causes]
    return [(cause.kind, cause.path) for cause in causes], report


def call(*args, **kwargs):
    return args, kwargs


def test_cause_of_first_trace():
    causes, report = of(jit(lambda x: x), call(X), call(X), call(X + 1))
    assert causes == [] and len(report) == 1
    assert report.traces[0].arguments == ("x: f32[4]",)
    assert report.traces[0].line.text == "compiled(*args, **kwargs)"


# For each name a known cause: two calls of `step`, and the expected kind and path.
@pytrees.register_dataclass
@dataclasses.dataclass
class Settings:
    weights: np.ndarray
    size: int = dataclasses.field(metadata={"static": True})
    mode: str = dataclasses.field(metadata={"static": True})


PLANTED = {
    "shape": (call({"w": W}, X), call({"w": W[:2]}, X), ("shape", "params['w']")),
    "dtype": (call({"w": W}, X), call({"w": W.astype(np.int32)}, X), ("dtype", "params['w']")),
    "weak type": (
        call({"w": W, "b": [np.float32(1)]}, X),
        call({"w": W, "b": [1.0]}, X),
        ("weak type", "params['b'][0]"),
    ),
    "new key": (call({"w": W}, X), call({"w": W, "b": X}, X), ("structure", "params['b']")),
    "length": (
        call({"w": W, "b": (X,)}, X),
        call({"w": W, "b": (X, X)}, X),
        ("structure", "params['b'][1]"),
    ),
    "node type": (
        call({"w": W, "b": (X,)}, X),
        call({"w": W, "b": [X]}, X),
        ("structure", "params['b']"),
    ),
    "static field": (
        call({"w": W, "b": [Settings(X, 1, "a")]}, X),
        call({"w": W, "b": [Settings(X, 1, "b")]}, X),
        ("static value", "params['b'][0].mode"),
    ),
    "order of keys": (
        call({"w": W, "b": OrderedDict(a=X, b=X)}, X),
        call({"w": W, "b": OrderedDict(b=X, a=X)}, X),
        ("structure", "params['b']"),
    ),
    "None": (call({"w": W}, X, None), call({"w": W}, X, X), ("structure", "flag")),
    "keyword": (call({"w": W}, X), call({"w": W}, x=X), ("structure", "x")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_changed_arguments_are_causes(name):
    first, second, expected = PLANTED[name]
    causes, report = of(jit(lambda params, x, flag=None: step(params, x)), first, second)
    assert causes == [expected]
    assert expected[1] in str(report)


def test_changed_static_values_are_causes():
    scale = jit(lambda x, power, mode="a": x**power, static_argnums=1, static_argnames="mode")
    causes, report = of(scale, call(X, 2), call(X, 3), call(X, 2, mode="b"))
    assert causes == [("static value", "power"), ("static value", "mode")]
    assert (report.causes[0].now, report.causes[0].before) == ("3", "2")


def test_static_scalars_of_numpy_are_shown():
    scale = jit(lambda x, k: x * k, static_argnums=1)
    causes, report = of(scale, call(X, np.float32(1)), call(X, np.float32(2)))
    assert causes == [("static value", "k")]
    assert (report.causes[0].now, report.causes[0].before) == ("np.float32(2.0)", "np.float32(1.0)")


def test_changed_flags_are_causes():
    double = jit(lambda x: x @ x)
    with explain() as report:
        double(X)
        with default_matmul_precision("highest"):
            double(X)
    (cause,) = report.causes
    assert cause.kind == "flag" and cause.path == "olympus_default_matmul_precision"
    assert (cause.now, cause.before) == ("highest", "None")


def test_new_function_object_with_its_line():
    with explain() as report:
        for _ in range(2):
            compiled = jit(lambda x: x + 1)
            compiled(X)
    (cause,) = report.causes
    assert cause.kind == "function" and "lambda" in cause.path
    assert cause.line.text == "compiled = jit(lambda x: x + 1)"
    (own,) = explain(compiled).traces
    assert own.causes == (cause,)


def test_changed_closures_are_causes():
    def make(scale):
        return jit(lambda x: x * scale)

    with explain() as report:
        make(2.0)(X)
        make(3.0)(X)
    kinds = {cause.kind: cause for cause in report.causes}
    assert set(kinds) == {"function", "closure cell"}
    cell = kinds["closure cell"]
    assert (cell.path, cell.now, cell.before) == ("scale", "3.0", "2.0")


def test_changed_globals_are_causes(monkeypatch):
    def update(x):
        return x * rate

    compiled = jit(update)
    compiled(X)
    monkeypatch.setitem(globals(), "rate", 0.25)
    assert "global `rate` is 0.25 now" in str(explain(compiled))
    clear_caches()
    compiled(X)
    (cause,) = explain(compiled).causes
    assert cause == ("global", "rate", "0.25", "0.5", None)


def test_changed_partial_arguments_are_causes():
    def update(rate, x):
        return x * rate

    with explain() as report:
        for each in (1.0, 2.0):
            jit(functools.partial(update, each))(X)
    assert ("partial argument", "0", "2.0", "1.0", None) in report.causes


def test_changed_options_are_causes():
    def update(x):
        return x

    with explain() as report:
        jit(update)(X)
        jit(update, donate_argnums=0)(jnp.asarray(X))
    assert ("option", "donate_argnums") in [(each.kind, each.path) for each in report.causes]


def test_sharding_of_an_argument_compiles_again(devices):
    mesh = make_mesh((2,), ("i",), (AxisType.Auto,), devices=devices[:2])
    causes, report = of(
        jit(lambda params: params["x"] * 2),
        call({"x": device_put(X, NamedSharding(mesh, PartitionSpec("i")))}),
        call({"x": device_put(X, NamedSharding(mesh, PartitionSpec()))}),
    )
    assert len(report) == 1
    assert causes == [("sharding", "params['x']")], str(report)


def test_sharding_in_the_type_of_an_argument(devices):
    mesh = make_mesh((2,), ("i",), (AxisType.Explicit,), devices=devices[:2])
    causes, report = of(
        jit(lambda params: params["x"] * 2),
        call({"x": device_put(X, NamedSharding(mesh, PartitionSpec("i")))}),
        call({"x": device_put(X, NamedSharding(mesh, PartitionSpec()))}),
    )
    assert causes == [("sharding", "params['x']")], str(report)


def test_cleared_caches_are_named():
    compiled = jit(lambda x: x - 1)
    compiled(X)
    clear_caches()
    compiled(X)
    (cause,) = explain(compiled).causes
    assert cause.kind == "cache" and "cleared" in str(cause)


def test_a_failed_trace_is_not_recorded():
    def fail(x):
        raise KeyError(x)

    with explain() as report, pytest.raises(KeyError):
        jit(fail)(X)
    assert len(report) == 0


def test_records_hold_no_references():
    class Model:
        scale = 2.0

    def use():
        model = Model()
        jit(lambda x: x * model.scale)(X)
        return weakref.ref(model)

    gone = use()
    clear_caches()
    gc.collect()
    assert gone() is None


class Unbound:
    """Stand-in for objects whose attributes raise errors outside of a request."""

    @property
    def __class__(self):
        raise RuntimeError("outside of a request")


request = Unbound()


def test_globals_that_raise_on_inspection_are_ignored():
    compiled = jit(lambda x: x if request is None else x + 1)
    compiled(X)
    assert len(explain(compiled)) == 1


def test_gradients_have_line_of_users_function():
    from olympus_autodiff import grad

    causes, report = of(jit(grad(lambda x: x**2)), call(1.0), call(np.float32(2.0)))
    assert causes == [("weak type", "x")]
    assert "test_explanations.py" in report.traces[0].function


def test_html_escapes_and_saves(tmp_path):
    _, report = of(jit(lambda x: x), call(X), call(X[:1]))
    assert "&lt;lambda&gt;" in report._repr_html_()
    report.save(tmp_path / "report.html")
    assert "f32[1]" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_untraced_functions_and_invalid_arguments():
    assert str(explain(jit(lambda x: x))) == "The function has not been traced."
    with pytest.raises(TypeError, match="takes a function, got 3"):
        explain(3)


def test_report_at_exit():
    program = """if True:
        import numpy as np
        from olympus_insight import explain
        from olympus_xla import jit
        explain.at_exit()
        def quiet(x): return x
        def loud(x): return x
        jit(quiet)(np.ones(1)); compiled = jit(loud); compiled(np.ones(1)); compiled(np.ones(2))
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "x: shape f32[2], before f32[1]" in done.stderr and "quiet" not in done.stderr


# ---- max_traces ----


def test_max_traces_raises_with_the_explanation():
    limited = jit(lambda params, x: step(params, x), max_traces=2)
    limited({"w": W}, X)
    limited({"w": W[:2]}, X)
    limited({"w": W}, X)  # this call has been traced already
    with pytest.raises(RuntimeError, match=r"params\['w'\]: shape f32\[1,4\]") as caught:
        limited({"w": W[:1]}, X)
    assert "max_traces=2" in str(caught.value) and "test_explanations.py" in str(caught.value)
    with pytest.raises(RuntimeError, match=r"f32\[1,4\]"):  # the next call raises the error, too
        limited({"w": W[:1]}, X)
    limited({"w": W}, X)


def test_max_traces_counts_traces_of_limited_function():
    def double(x):
        return x * 2

    jit(double)(X)
    limited = jit(double, max_traces=1)
    limited(X[:2])
    with pytest.raises(RuntimeError, match=r"x: shape f32\[3\], before f32\[2\]") as caught:
        limited(X[:3])
    assert "f32[4]" not in str(caught.value)


def test_max_traces_as_decorator_and_under_trace():
    @jit(max_traces=1)
    def inner(x):
        return x * 2

    outer = jit(lambda x: inner(x) + inner(x[:1]))
    with pytest.raises(RuntimeError, match="may be traced once"):
        outer(X)


@pytest.mark.parametrize("limit, error", [(0, ValueError), ("two", TypeError)])
def test_max_traces_is_checked(limit, error):
    with pytest.raises(error, match="max_traces"):
        jit(lambda x: x, max_traces=limit)
