# SPDX-License-Identifier: Apache-2.0
import pickle
from importlib import metadata

import pytest

from olympus_ir._jaxlib import JaxRuntimeError
from olympus_ir.diagnostics import errors

ERRORS = [
    getattr(errors, name)
    for name in errors.__all__
    if name == getattr(errors, name).__name__ and name != "JaxRuntimeError"
]
# The builtin that jax 0.10.2 raises in each place.
BUILTIN = {
    "ConcretizationTypeError": TypeError,
    "InconclusiveDimensionOperation": Exception,
    "JAXIndexError": IndexError,
    "JAXTypeError": TypeError,
    "JaxRuntimeError": RuntimeError,
    "KeyReuseError": TypeError,
    "LeakedTracerError": Exception,
    "MissingRuleError": NotImplementedError,
    "NonConcreteBooleanIndexError": IndexError,
    "OlympusprTypeError": TypeError,
    "ShapeError": TypeError,
    "TracerArrayConversionError": TypeError,
    "TracerBoolConversionError": TypeError,
    "TracerIntegerConversionError": TypeError,
    "TypePromotionError": ValueError,
    "UnexpectedTracerError": TypeError,
}


class Aval:
    def str_short(self, short_dtypes=False):
        return "float32[3]"


class FakeTracer:
    aval = Aval()

    def _origin_message(self):
        return "It depends on the argument x of f at file.py:1, traced for jit."


@pytest.mark.parametrize("name", BUILTIN)
def test_errors_subclass_builtin_errors(name):
    assert issubclass(getattr(errors, name), BUILTIN[name])


def test_errors_have_names_of_jax():
    assert errors.JAXTypeError is errors.OlympusTypeError
    assert errors.JAXIndexError is errors.OlympusIndexError
    assert errors.JaxRuntimeError is JaxRuntimeError
    assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)
    for error in ERRORS:
        assert issubclass(error, errors.OlympusError)


@pytest.mark.parametrize(
    ("error", "what", "repair"),
    [
        (
            errors.TracerBoolConversionError,
            "Attempted boolean conversion of traced",
            "olympus.lax.cond",
        ),
        (
            errors.TracerArrayConversionError,
            "conversion method __array__() was called",
            "olympus.numpy",
        ),
        (
            errors.TracerIntegerConversionError,
            "The __index__() method was called on",
            "static_argnames",
        ),
        (
            errors.NonConcreteBooleanIndexError,
            "boolean indices must be concrete",
            "where(mask, x, fill)",
        ),
        (errors.ConcretizationTypeError, "where concrete value is expected", "See https"),
    ],
)
def test_tracer_errors_name_origin_and_repair(error, what, repair):
    message = str(error(FakeTracer()))
    assert what in message
    assert "float32[3]" in message
    assert "argument x of f at file.py:1, traced for jit" in message
    assert repair in message
    assert message.endswith(f"See {errors.DOCUMENTATION}#{error.__name__.lower()}")


def test_context_of_concretization():
    message = str(errors.ConcretizationTypeError(FakeTracer(), "It is the axis of sum."))
    assert "It is the axis of sum." in message
    tracer = FakeTracer()
    tracer._origin_message = lambda: ""
    assert "\n\n" not in str(errors.ConcretizationTypeError(tracer))


@pytest.mark.parametrize(
    "error",
    [
        errors.KeyReuseError,
        errors.UnexpectedTracerError,
        errors.MissingRuleError,
        errors.ShapeError,
        errors.TypePromotionError,
        errors.OlympusprTypeError,
    ],
)
def test_errors_with_a_message(error):
    instance = error("what happened")
    assert str(instance) == f"what happened\nSee {errors.DOCUMENTATION}#{error.__name__.lower()}"
    # Wrapping a message again does not repeat the reference.
    assert str(error(str(instance))) == str(instance)


def test_users_subclass_refers_to_its_documented_base():
    class MyShapeError(errors.ShapeError):
        pass

    assert str(MyShapeError("mine")).endswith("#shapeerror")


@pytest.mark.parametrize("error", ERRORS)
def test_errors_pickle(error):
    try:
        instance = error(FakeTracer())
    except AttributeError:
        instance = error("message")
    instance.add_note("a note")
    copy = pickle.loads(pickle.dumps(instance))
    assert type(copy) is error
    assert str(copy) == str(instance)
    assert copy.__notes__ == ["a note"]


def test_error_url_is_in_the_documentation_site():
    urls = metadata.metadata("olympus-ir").get_all("Project-URL")
    (site,) = (url.split(", ")[1] for url in urls if url.startswith("Documentation"))
    assert f"{site}/errors.html" == errors.DOCUMENTATION
