# SPDX-License-Identifier: Apache-2.0
"""Functions of leaves, and names of functions and arguments in messages."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.diagnostics.source_info import (
    FunctionOrigin,
    SourceInfo,
    capture,
    summarize,
    user_frame,
)
from olympus_ir.programs.jit import jit
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import (
    FlatFunction,
    argument_numbers,
    debug_info,
    debug_info_of_tree,
    function_name,
    function_source,
    result_paths,
    select_arguments,
)


def example(first, second, *rest, option=None, **others):
    return {"sum": first, "pair": (second, rest)}


class Layer:
    def __call__(self, inputs, scale=1.0):
        return inputs

    def apply(self, params, inputs):
        return inputs


def names(fun, *args, **kwargs):
    info = debug_info("test", fun, args, kwargs)
    _, tree = pytrees.tree_flatten((args, kwargs))
    assert debug_info_of_tree("test", fun, tree).arg_names == info.arg_names
    return list(info.arg_names)


class TestArgumentNames:
    def test_paths_within_arguments(self):
        assert names(example, {"w": 1, "b": (2, 3)}, 4) == [
            "first['b'][0]",
            "first['b'][1]",
            "first['w']",
            "second",
        ]

    def test_further_arguments_are_named_by_position(self):
        assert names(example, 1, 2, 3, [4]) == ["first", "second", "rest[0]", "rest[1][0]"]

    def test_keyword_arguments_are_named_by_their_keys(self):
        assert names(example, 1, second=2, option=3, extra=4) == [
            "first",
            "others['extra']",
            "option",
            "second",
        ]

    def test_methods_and_callable_objects(self):
        assert names(Layer().apply, 1, 2) == ["params", "inputs"]
        assert names(Layer(), 1, scale=2) == ["inputs", "scale"]

    def test_partial_applications_skip_bound_arguments(self):
        assert names(functools.partial(example, 1), 2, 3) == ["second", "rest[0]"]
        assert names(functools.partial(Layer().apply, 1), 2) == ["inputs"]

    def test_wrapped_functions_give_the_names(self):
        @functools.wraps(example)
        def wrapper(*args, **kwargs):
            return example(*args, **kwargs)

        assert names(wrapper, 1, 2) == ["first", "second"]
        assert names(jit(example), 1, 2) == ["first", "second"]

    def test_functions_without_python_code(self):
        assert names(np.sin, 1) == ["args[0]"]
        assert names(dict, 1, a=2) == ["args[0]", "a"]

    def test_static_arguments_are_left_out(self):
        info = debug_info(
            "test",
            example,
            (1, 2, 3),
            {"option": 4},
            static_argnums=(1,),
            static_argnames=("option",),
        )
        assert info.arg_names == ("first", "rest[0]")


class TestFunctionNames:
    def test_names_are_those_of_the_inner_function(self):
        assert function_name(example) == "example"
        assert function_name(functools.partial(example, 1)) == "example"
        assert function_name(Layer()) == "Layer"
        assert function_name(FlatFunction(example, None)) == "example"

    def test_sources_show_file_and_line(self):
        line = example.__code__.co_firstlineno
        source = f"example at {__file__}:{line}"
        assert function_source(example) == source
        assert function_source(functools.partial(example, 1)) == source
        assert function_source(jit(example)) == source
        assert function_source(Layer()).startswith(f"Layer at {__file__}:")
        assert function_source(np.sin) == "sin"

    def test_debug_info_holds_names_and_source(self):
        info = DebugInfo("test", example, ["x"], lambda: ["result"])
        assert info.func_name == "example"
        assert info.func_src_info == function_source(example)
        assert (info.arg_names, info.result_paths) == (("x",), ("result",))
        text = DebugInfo.of("test", "described at some place")
        assert text.func_name == "described"
        assert text.arg_names is None
        assert info.select([False], [True]).arg_names == ()

    def test_circular_wrappers_end(self):
        def circular():
            return None

        circular.__wrapped__ = circular
        assert FunctionOrigin(circular).name == "circular"


class TestFlatFunction:
    def test_structure_of_results(self):
        args = (1, (2,), 3)
        leaves, tree = pytrees.tree_flatten((args, {}))
        flat = FlatFunction(example, tree)
        with pytest.raises(RuntimeError, match="has not been called"):
            repr(flat.out_tree)
        assert flat(*leaves) == [2, 3, 1]
        assert pytrees.tree_unflatten(flat.out_tree, [2, 3, 1]) == example(*args)
        assert result_paths(flat.out_tree) == [
            "result['pair'][0][0]",
            "result['pair'][1][0]",
            "result['sum']",
        ]


class TestArgumentSelection:
    def test_argument_numbers_are_checked_and_normalized(self):
        assert argument_numbers(0, 2) == (0,)
        assert argument_numbers([0, -1], 3) == (0, 2)
        with pytest.raises(
            ValueError, match=r"argnums=3 names argument 3, but.*1 positional argum"
        ):
            argument_numbers(3, 1)
        with pytest.raises(TypeError, match="must be an integer or a sequence of integers"):
            argument_numbers("x", 1)

    def test_selected_arguments_become_operands(self):
        fun, chosen = select_arguments(example, (1,), (1, 2, 3), {"option": 4})
        assert chosen == [2]
        assert fun(20) == {"sum": 1, "pair": (20, (3,))}
        assert fun.__name__ == "example"


class TestSourceInfo:
    def test_the_user_s_line(self):
        source = SourceInfo(capture(), ())
        frame = user_frame(source)
        assert frame.file_name == __file__
        assert frame.function_name == "TestSourceInfo.test_the_user_s_line"
        assert frame.start_line == self.test_the_user_s_line.__code__.co_firstlineno + 1
        assert summarize(source) == (
            f"{__file__}:{frame.start_line}:{frame.start_column} "
            "(TestSourceInfo.test_the_user_s_line)"
        )
        assert summarize(source, 2).count("\n") == 1

    def test_library_code_is_not_the_user_s(self):
        sources = []

        class Noting:
            def process_primitive(self, primitive, args, params):
                sources.append(SourceInfo(capture(), ()))

        from olympus_ir.programs.tracing import set_current_trace

        with set_current_trace(Noting()):
            lax.sin_p.bind(1.0)
        assert user_frame(sources[0]).file_name == __file__

    def test_unknown_source_locations(self):
        assert summarize(SourceInfo(None, ())) == "unknown"
