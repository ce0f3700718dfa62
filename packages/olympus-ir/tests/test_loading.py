# SPDX-License-Identifier: Apache-2.0
import inspect
import subprocess
import sys

import pytest

from olympus_ir.loading import deferred, deferred_modules


def test_deferred_module_forwards_attributes():
    import colorsys

    stand_in = deferred("colorsys", milliseconds=0.1)
    assert stand_in.rgb_to_hsv is colorsys.rgb_to_hsv
    assert "rgb_to_hsv" in dir(stand_in)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        stand_in.missing  # noqa: B018


def test_declarations_are_recorded():
    deferred("colorsys", milliseconds=0.25)
    assert deferred_modules[-1].module == "colorsys"
    assert deferred_modules[-1].user == __name__
    assert deferred_modules[-1].milliseconds == 0.25


def test_relative_names_resolve_in_the_calling_module():
    namespace = {"__name__": "olympus_ir.types.avals", "__package__": "olympus_ir.types"}
    exec(
        "from olympus_ir.loading import deferred\n"
        "dtypes = deferred('.dtypes', milliseconds=1)\n"
        "loading = deferred('..loading', milliseconds=1)",
        namespace,
    )
    from olympus_ir import loading
    from olympus_ir.types import dtypes

    assert namespace["dtypes"].canonicalize_dtype is dtypes.canonicalize_dtype
    assert namespace["loading"].deferred is loading.deferred


def test_deferred_imports_need_a_positive_time():
    with pytest.raises(ValueError, match="measured import time of colorsys, got 0"):
        deferred("colorsys", milliseconds=0)


def test_the_module_is_imported_with_its_first_attribute():
    program = (
        "import sys\n"
        "from olympus_ir.loading import deferred\n"
        "colors = deferred('colorsys', milliseconds=0.1)\n"
        "before = 'colorsys' in sys.modules\n"
        "colors.rgb_to_hsv\n"
        "print(before, 'colorsys' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["False", "True"]


def test_inspection_does_not_import_a_missing_module():
    stand_in = deferred("a_module_that_is_not_installed", milliseconds=0.1)
    assert inspect.unwrap(stand_in) is stand_in
    with pytest.raises(ModuleNotFoundError):
        _ = stand_in.attribute
