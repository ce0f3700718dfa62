# SPDX-License-Identifier: Apache-2.0
"""Finding libtpu. Running it needs a TPU."""

import pytest

from olympus_xla.platforms.plugins import tpu


def test_library_path_is_configurable(monkeypatch):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/somewhere/libtpu.so")
    assert tpu.plugin_library() == "/somewhere/libtpu.so"


def test_library_of_the_wheel(monkeypatch, tmp_path):
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    (tmp_path / "libtpu.py").write_text("def get_library_path():\n    return 'here'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert tpu.plugin_library() == "here"


def test_missing_library_error_suggests_the_package(monkeypatch):
    monkeypatch.setattr(tpu, "plugin_library", lambda: None)
    with pytest.raises(RuntimeError, match=r'pip install "olympus\[tpu\]"'):
        tpu._make_client()
    monkeypatch.setattr(tpu, "has_tpu", lambda: True)
    assert "a TPU may be present" in tpu._hint()
