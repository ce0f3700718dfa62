# SPDX-License-Identifier: Apache-2.0
import pathlib
import pickle
import re
import subprocess
import sys

import olympus_ir
from olympus_ir import _jaxlib

SOURCE = pathlib.Path(olympus_ir.__file__).parent


def test_all_exported_names_exist():
    for name in _jaxlib.__all__:
        assert getattr(_jaxlib, name) is not None


def test_only_one_module_imports_jaxlib():
    importing = re.compile(r"^\s*(from|import) jaxlib", re.MULTILINE)
    found = [p.name for p in SOURCE.rglob("*.py") if importing.search(p.read_text("utf-8"))]
    assert found == ["_jaxlib.py"]


def test_importing_neither_loads_the_client_nor_jax():
    code = (
        "import sys, olympus_ir; "
        "print([m for m in sys.modules if m in ('jaxlib.xla_client', 'jax')])"
    )
    path = ":".join(entry for entry in sys.path if entry)
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout.strip() == "[]", result.stderr


def test_unsupported_versions_are_refused():
    code = "import jaxlib.version as v; v.__version_info__ = (0, 9, 1); import olympus_ir._jaxlib"
    path = ":".join(entry for entry in sys.path if entry)
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert "needs jaxlib >= 0.10.2, < 0.13, found 0.9.1" in result.stderr


def test_registries_pickle_by_name():
    for registry in (_jaxlib.pytree_registry, _jaxlib.none_leaf_registry):
        treedef = registry.flatten([1, None])[1]
        assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert _jaxlib.pytree_registry.flatten([None])[0] == []
    assert _jaxlib.none_leaf_registry.flatten([None])[0] == [None]
