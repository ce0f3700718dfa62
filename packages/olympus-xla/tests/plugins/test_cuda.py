# SPDX-License-Identifier: Apache-2.0
"""Finding the CUDA plugin. Loading it needs the wheel, running it a GPU."""

import pytest

from olympus_xla.platforms.plugins import cuda


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A folder on the path that looks like an installed plugin."""

    def install(version):
        folder = tmp_path / "jax_plugins" / f"xla_{version}"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise AssertionError('imports jax')")
        (folder / "xla_cuda_plugin.so").write_bytes(b"")
        return folder / "xla_cuda_plugin.so"

    monkeypatch.syspath_prepend(str(tmp_path))
    return install


def test_plugin_is_found_without_importing_it(wheel):
    path = wheel("cuda12")
    assert cuda.plugin_library() == ("cuda12", path)
    newer = wheel("cuda13")
    assert cuda.plugin_library() == ("cuda13", newer)


def test_missing_plugin_error_suggests_the_package(monkeypatch):
    monkeypatch.setattr(cuda, "plugin_library", lambda: None)
    with pytest.raises(RuntimeError, match=r'pip install "olympus\[cuda13\]"'):
        cuda.load_plugin()
    monkeypatch.setattr(cuda, "has_nvidia_gpu", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert "an NVIDIA GPU may be present" in cuda._hint()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cuda._hint() is None
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(cuda, "has_nvidia_gpu", lambda: False)
    assert cuda._hint() is None
