# SPDX-License-Identifier: Apache-2.0
import gc
import inspect
import subprocess
import sys

import pytest

from olympus_ir.loading import (
    deferred,
    deferred_modules,
    import_seconds,
    imported,
    timed_import,
)


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


def test_module_is_imported_with_its_first_attribute():
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


# ---- the garbage collector ----


def _printed(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_garbage_collector_rests_during_the_import():
    program = (
        "import gc\n"
        "ended = []\n"
        "gc.callbacks.append(lambda phase, info: ended.append(phase) if phase == 'stop' else 0)\n"
        "import olympus_ir\n"
        "print(len(ended), gc.isenabled(), gc.get_freeze_count())"
    )
    collections, is_enabled, frozen = _printed(program)
    assert int(collections) < 10
    assert (is_enabled, frozen) == ("True", "0")


def test_a_disabled_garbage_collector_stays_disabled():
    program = "import gc\ngc.disable()\nimport olympus_ir\nprint(gc.isenabled())"
    assert _printed(program) == ["False"]


def test_objects_that_were_frozen_stay_frozen():
    program = (
        "import gc\ngc.collect()\ngc.freeze()\n"
        "import olympus_ir\nprint(gc.get_freeze_count() > 1000, gc.isenabled())"
    )
    assert _printed(program) == ["True", "True"]


def test_garbage_from_before_large_import_is_collected():
    program = (
        "import gc, weakref\n"
        "class Node: pass\n"
        "node = Node()\n"
        "node.itself = node\n"
        "seen = weakref.ref(node)\n"
        "del node\n"
        "import olympus_ir\n"
        "gc.collect()\n"
        "print(seen() is None)"
    )
    assert _printed(program) == ["True"]


def test_garbage_collector_continues_after_failed_import():
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError), timed_import:
        with timed_import:
            assert not gc.isenabled()
        assert not gc.isenabled()
        imported("a_module_that_is_not_installed")
    assert gc.isenabled()


def test_late_imports_count_as_import_time():
    before = import_seconds()
    imported("colorsys")
    assert import_seconds() > before
