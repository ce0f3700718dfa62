# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import re
import traceback

import numpy as np
import pytest

from olympus_ir.diagnostics import traceback_filtering
from olympus_ir.diagnostics.traceback_filtering import (
    NOTE,
    UnfilteredStackTrace,
    api_boundary,
    filter_traceback,
    register_exclusion,
)
from olympus_ir.settings.config import config
from olympus_ir.trees.pytrees import tree_map

# A public function that calls the user's, with frames of the library between.
transform = api_boundary(tree_map)


@pytest.fixture
def mode():
    yield lambda name: config.update("olympus_traceback_filtering", name)
    config.update("olympus_traceback_filtering", "auto")


def user_function(x):
    return 1 // x


def user_main():
    return transform(lambda _: transform(user_function, [0]), [1])


def error_of(function):
    try:
        function()
    except ZeroDivisionError as error:
        return error
    raise AssertionError("the function returned")


def files(error):
    return [os.path.basename(f.filename) for f in traceback.extract_tb(error.__traceback__)]


def functions(error):
    return [f.name for f in traceback.extract_tb(error.__traceback__)]


def test_only_the_users_frames_are_shown(mode):
    for name in ("remove_frames", "quiet_remove_frames", "auto"):
        mode(name)
        error = error_of(user_main)
        assert set(files(error)) == {os.path.basename(__file__)}
        assert functions(error) == ["error_of", "user_main", "<lambda>", "user_function"]
        # Each line is the one where the call was made.
        assert "transform(user_function" in traceback.format_exc() or error.__traceback__
        assert error.__notes__ == [NOTE]


def test_line_numbers_are_kept():
    error = error_of(user_main)
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.line == "return 1 // x"


def test_off_shows_everything(mode):
    mode("off")
    error = error_of(user_main)
    assert "pytrees.py" in files(error)
    assert not hasattr(error, "__notes__")


def test_remove_frames_keeps_full_traceback_as_cause(mode):
    mode("remove_frames")
    error = error_of(user_main)
    cause = error.__cause__
    assert isinstance(cause, UnfilteredStackTrace) and cause.__cause__ is None
    assert "ZeroDivisionError" in str(cause) and "excludes OLYMPUS-internal frames" in str(cause)
    assert functions(error) == ["error_of", "user_main", "<lambda>", "user_function"]
    assert "pytrees.py" in files(cause)
    shown = [name for name, file in zip(functions(cause), files(cause)) if file in files(error)]
    assert shown == ["<lambda>", "user_function"]
    mode("quiet_remove_frames")
    assert error_of(user_main).__cause__ is None


def test_remove_frames_keeps_the_users_cause(mode):
    mode("remove_frames")

    def chained(x):
        raise ZeroDivisionError from KeyError(x)

    cause = error_of(lambda: transform(chained, 1)).__cause__
    assert isinstance(cause, UnfilteredStackTrace) and isinstance(cause.__cause__, KeyError)


def test_tracebackhide_marks_frames(mode):
    mode("tracebackhide")
    error = error_of(user_main)
    hidden, tb = [], error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_locals.get("__tracebackhide__"):
            hidden.append(os.path.basename(tb.tb_frame.f_code.co_filename))
        tb = tb.tb_next
    assert set(hidden) == {"pytrees.py", "traceback_filtering.py"}


def test_errors_of_function_itself_show_call():
    @api_boundary
    def refuse():
        raise ZeroDivisionError

    register_exclusion(__file__)
    try:
        error = error_of(refuse)
    finally:
        _forget_exclusion(__file__)
    # The frame of error_of was not there yet when the traceback was filtered.
    assert functions(error) == ["error_of"]


def _forget_exclusion(path):
    from olympus_ir.diagnostics import source_info

    source_info._library_folders.remove(os.path.abspath(path))


def test_excluded_folders_are_hidden(tmp_path):
    library = tmp_path / "library.py"
    library.write_text("def call(f, x):\n    return f(x)\n")
    namespace = {}
    exec(compile(library.read_text(), str(library), "exec"), namespace)
    main = lambda: api_boundary(namespace["call"])(user_function, 0)  # noqa: E731
    assert "library.py" in files(error_of(main))
    register_exclusion(str(tmp_path))
    assert "library.py" not in files(error_of(main))


def test_context_manager_frames_are_hidden():
    @contextlib.contextmanager
    def manager():
        yield

    def managed(x):
        with manager():
            return user_function(x)

    assert "contextlib.py" not in files(error_of(lambda: transform(managed, 0)))


def test_signature_and_result_are_kept():
    assert transform.__name__ == "tree_map"
    assert transform.__wrapped__ is tree_map
    assert transform(lambda x, y: x + y, [1], [2]) == [3]


def test_base_exceptions_are_not_filtered():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        transform(interrupt, 1)
    assert "pytrees.py" in files(caught.value)


def test_filter_traceback_of_none():
    assert filter_traceback(None) is None


def test_auto_hides_under_ipython(monkeypatch):
    class FakeIPython:
        version_info = (8, 0)

        @staticmethod
        def get_ipython():
            return object()

    assert traceback_filtering._mode() == "quiet_remove_frames"
    monkeypatch.setitem(traceback_filtering.sys.modules, "IPython", FakeIPython)
    assert traceback_filtering._mode() == "tracebackhide"


class TestFlags:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (
                {"reverse": np.arange(2)},
                "chosen requires True or False for `reverse`, got an array",
            ),
            ({"mode": np.arange(2)}, "chosen requires a value such as 'same' for `mode`, got an"),
            ({"count": np.arange(2)}, "The truth value of an array with more than one element"),
            ({"count": [1]}, None),
        ],
    )
    def test_errors_name_flags_that_are_arrays(self, options, text):
        @api_boundary
        def chosen(x, reverse=False, mode="same", count=1):
            return x if reverse or mode == "full" or count else -x

        if text is None:
            assert chosen(1, **options) == 1
            return
        with pytest.raises(ValueError, match=re.escape(text)):
            chosen(1, **options)

    def test_errors_of_other_arrays_stay(self):
        @api_boundary
        def called(fun, reverse=False):
            return fun(np.arange(2))

        with pytest.raises(ValueError, match="The truth value of an array"):
            called(bool, reverse=True)
