# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus``: its output and its exit status."""

import importlib.metadata
import json
import os
import subprocess
import sys
import types

import pytest

from olympus import command_line
from olympus.command_line import examples, installation
from olympus_ir.settings import config_cache_flags as flags
from olympus_xla.compiling import cache_usage


def run(*arguments, **environment):
    own = {name: text for name, text in os.environ.items() if not name.startswith("OLYMPUS_")}
    return subprocess.run(
        [sys.executable, "-m", "olympus", *arguments],
        env={**own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    flags.cache_dir.update(os.fspath(tmp_path / "olympus"))
    yield tmp_path / "olympus"
    flags.cache_dir.update(None)


def texts():
    return [problem.text for problem in installation.problems()]


# ---- doctor ----


def test_the_doctor_in_a_process(tmp_path):
    place = {"OLYMPUS_CACHE_DIR": str(tmp_path / "olympus"), "OLYMPUS_PLATFORMS": "cpu"}
    done = run(**place, OLYMPUS_ENABLE_X64="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"jaxlib            {importlib.metadata.version('jaxlib')}" in done.stdout
    assert "cpu:0  cpu" in done.stdout
    assert "True, from the environment variable OLYMPUS_ENABLE_X64" in done.stdout
    assert str(tmp_path / "olympus" / "executables") in done.stdout
    assert done.stdout.endswith("No problem found.\n")
    (tmp_path / "olympus").chmod(0o777)
    done = run("doctor", **place, OLYMPUS_ENABEL_X64="1")
    assert done.returncode == 1
    assert "2 problems found:" in done.stdout
    assert "the environment variable OLYMPUS_ENABEL_X64 has no meaning" in done.stdout
    assert "To fix it: did you mean OLYMPUS_ENABLE_X64?" in done.stdout
    if hasattr(os, "geteuid"):
        assert "other users can write to" in done.stdout


def test_refused_variables_are_reported(tmp_path):
    refused = {"OLYMPUS_ENABLE_X64": "maybe", "OLYMPUS_CACHE_DIR": str(tmp_path / "olympus")}
    done = run(**refused)
    assert done.returncode == 1
    assert "1 problem found:" in done.stdout
    assert "the environment variable OLYMPUS_ENABLE_X64 is 'maybe': must be a truth" in done.stdout
    assert "To fix it: set it to an accepted value, or unset it" in done.stdout
    done = run(OLYMPUS_DEFAULT_DEVICE="maybe", OLYMPUS_CACHE_DIR=refused["OLYMPUS_CACHE_DIR"])
    assert done.returncode == 1
    assert "the default device 'maybe' cannot be used" in done.stdout
    done = run("info", **refused)
    assert done.returncode == 2
    assert "OLYMPUS_ENABLE_X64 is 'maybe'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("flag", ["--xla_nonesuch=1", "--xla_cpu_enable_fast_math=perhaps"])
def test_flags_that_xla_refuses_are_reported(flag, tmp_path):
    done = run(XLA_FLAGS=flag, OLYMPUS_CACHE_DIR=str(tmp_path / "olympus"))
    assert done.returncode == 1
    assert "1 problem found:" in done.stdout
    assert flag.strip("-").split("=")[0] in done.stdout.split("XLA refuses its flags")[1]
    assert "To fix it: remove the flag from the environment variable XLA_FLAGS" in done.stdout


def test_unwritable_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    for name, problems in (("file/cache", 1), ("new/cache", 0)):
        flags.compilation_cache_dir.update(str(tmp_path / name))
        try:
            found = [text for text in texts() if text.endswith("cannot be written")]
        finally:
            flags.compilation_cache_dir.update(None)
        assert len(found) == problems


def test_incompatible_versions_are_reported(monkeypatch, capsys):
    real = importlib.metadata.distributions

    def with_an_old_one():
        old = types.SimpleNamespace(metadata={"Name": "jaxlib"}, version="0.4.30", requires=[])
        numpy = types.SimpleNamespace(metadata={"Name": "ml-dtypes"}, version="9", requires=[])
        others = [each for each in real() if each.metadata["Name"] not in ("jaxlib", "olympus-nn")]
        return [old, numpy, *others]

    monkeypatch.setattr(importlib.metadata, "distributions", with_an_old_one)
    found = texts()
    assert any("needs jaxlib" in text and "0.4.30 is installed" in text for text in found)
    assert any("needs olympus-nn, which is not installed" in text for text in found)
    assert command_line.main(["doctor"]) == 1
    assert 'To fix it: python -m pip install "jaxlib' in capsys.readouterr().out


def test_imported_jax_is_reported(monkeypatch):
    jax = types.ModuleType("jax")
    jax.__spec__ = types.SimpleNamespace(name="jax")
    monkeypatch.setitem(sys.modules, "jax", jax)
    assert any("JAX is imported in this process" in text for text in texts())


def test_accelerators_without_a_plugin(monkeypatch):
    assert not any("no plugin" in text for text in texts())
    monkeypatch.setattr(installation.cuda, "has_nvidia_gpu", lambda: True)
    monkeypatch.setattr(installation.cuda, "plugin_library", lambda: None)
    monkeypatch.setattr(installation.tpu, "has_tpu", lambda: True)
    monkeypatch.setattr(installation.tpu, "plugin_library", lambda: None)
    found = [problem for problem in installation.problems() if "no plugin" in problem.text]
    assert ["olympus[cuda13]" in found[0].remedy, "olympus[tpu]" in found[1].remedy] == [True] * 2


def test_incompatible_plugins_are_reported(monkeypatch):
    monkeypatch.setattr(installation, "plugins", lambda: {"jax-cuda13-plugin": "0.1.0"})
    assert any("jax-cuda13-plugin 0.1.0 is not compatible with jaxlib" in text for text in texts())


def test_devices_that_cannot_be_used(monkeypatch, capsys):
    def fail():
        raise RuntimeError("Unable to initialize backend 'x'\nmore")

    monkeypatch.setattr(installation.backends, "devices", fail)
    assert command_line.main([]) == 1
    printed = capsys.readouterr().out
    assert "none  Unable to initialize backend 'x'\n" in printed
    assert "the devices cannot be used: Unable to initialize" in printed


# ---- info ----


def test_info_for_programs(folder, capsys):
    assert command_line.main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["versions"]["jaxlib"] == importlib.metadata.version("jaxlib")
    assert facts["devices"][0]["platform"] == "cpu"
    assert facts["cache"]["directory"] == str(folder / "executables")
    assert facts["flags"]["olympus_cache_dir"] == {"value": str(folder), "origin": "program"}
    assert facts["problems"] == []
    assert command_line.main(["info"]) == 0
    assert "jaxlib:" in capsys.readouterr().out


# ---- cache ----


def test_the_cache_is_shown_and_cleared(folder, capsys):
    assert command_line.main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{folder / 'executables'}\n"
    assert not folder.exists()
    assert command_line.main(["cache"]) == 0
    for number in range(3):
        (folder / "executables" / f"jit_f-{number}-cache").write_bytes(bytes(1000))
    (folder / "programs" / "f-0-cache").write_bytes(bytes(1000))
    (folder / "executables" / "usage").write_text("5 3\nnonsense\n2 1\n")
    assert cache_usage.total_usage(folder / "executables") == (7, 4)
    capsys.readouterr()
    assert command_line.main(["cache", "show"]) == 0
    printed = capsys.readouterr().out.split("\n")
    assert [line.split(maxsplit=1) for line in printed[1:5]] == [
        ["entries", "3"],
        ["size", "3.9 KiB"],
        ["programs", "1 loadable without tracing (olympus_program_cache)"],
        ["hits", "7, and 4 misses, since the cache was cleared"],
    ]
    assert command_line.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("Removed 4 entries from")
    assert list((folder / "executables").iterdir()) == []


def test_disabled_or_refused_cache(folder, capsys):
    folder.write_bytes(b"")
    assert command_line.main(["cache"]) == 1
    assert "is not a directory" in capsys.readouterr().err
    flags.enable_compilation_cache.update(False)
    try:
        assert command_line.main(["cache"]) == 0
    finally:
        flags.enable_compilation_cache.update(True)
    assert "off (olympus_enable_compilation_cache" in capsys.readouterr().out


def test_a_directory_named_by_a_flag(tmp_path, capsys):
    flags.compilation_cache_dir.update(os.fspath(tmp_path))
    (tmp_path / "jit_f-0-cache").write_bytes(b"")
    try:
        assert command_line.main(["cache", "clear"]) == 0
    finally:
        flags.compilation_cache_dir.update(None)
    assert capsys.readouterr().out == f"Removed 1 entry from {tmp_path}.\n"


# ---- examples ----


def test_examples_are_listed_and_copied(tmp_path, capsys):
    assert command_line.main(["examples"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("gradient_descent", "pendulums", "classifier"))
    assert all(summary.endswith(".") for summary in examples.available().values())
    place = str(tmp_path / "new")
    assert command_line.main(["examples", "copy", "all", place]) == 0
    assert len(list((tmp_path / "new").iterdir())) == len(examples.available())
    assert command_line.main(["examples", "copy", "pendulums", place]) == 1
    assert "is not overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("gradient_descent", "y = 2.00 x + 1.00"),
        ("pendulums", "of 13.9 J"),
        ("classifier", "step 300: loss 0.00"),
    ],
)
def test_examples_run(name, last, capsys):
    assert command_line.main(["examples", "run", name]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(last)


def test_invalid_arguments_exit_with_status_2(capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(["examples", "run", "nothing"])
    assert ended.value.code == 2
    assert "gradient_descent" in capsys.readouterr().err
