# SPDX-License-Identifier: Apache-2.0
"""`olympus.freeze` of functions and references, and ``python -m olympus frozen``."""

import json

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.command_line import main

X = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def model(params, x, scale):
    return {"y": jnp.tanh(x @ params["w"]) * scale, "total": x.sum()}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model"
    olympus.freeze(model, {"w": W}, X, 2.0, weights=0).save(path)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "scale.npy", np.float64(3))
    return path


def test_freeze_of_references_equals_jax():
    assert float(olympus.freeze(olympus.new_ref(2.0))) == 2.0
    with pytest.raises(TypeError, match="accepts arguments only for a function"):
        olympus.freeze(olympus.new_ref(2.0), 1.0)


def test_info_lists_inputs_and_weights(file, capsys):
    assert main(["frozen", "info", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "params.w  float32[3, 4]" in shown
    assert "scale  float32[]" in shown
    assert main(["frozen", "info", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in facts["operands"]] == ["params.w", "x", "scale"]
    assert facts["weights_bytes"] == W.nbytes


@pytest.mark.parametrize("inputs", [("x.npy", "scale.npy"), ("scale=scale.npy", "x.npy")])
def test_run_prints_and_saves_results(file, capsys, inputs, monkeypatch):
    monkeypatch.chdir(file.parent)
    command = ["frozen", "run", str(file), *(part for name in inputs for part in ("-i", name))]
    assert main(command) == 0
    assert "total = 3." in capsys.readouterr().out
    assert main([*command, "--output", "results.npz"]) == 0
    with np.load("results.npz") as results:
        np.testing.assert_allclose(results["y"], np.tanh(X @ W) * 3, rtol=1e-5)


def test_messages_of_errors(file, capsys):
    x = str(file.parent / "x.npy")
    for command, words in (
        (["info", x], "not a file of a frozen function"),
        (["info", "missing"], "No such file"),
        (["run", str(file), "-i", x], "missing: scale"),
        (["run", str(file), "-i", x, "-i", x, "-i", x], "too many"),
        (["run", str(file), "-i", x, "-i", x], "mismatch"),
    ):
        assert main(["frozen", *command]) == 1
        assert words in capsys.readouterr().err


def test_extract_writes_the_parts(file, capsys):
    folder = file.parent / "parts"
    assert main(["frozen", "extract", str(file), str(folder)]) == 0
    frozen = olympus.load_frozen(file)
    assert (folder / "module.mlirbc").read_bytes() == frozen.module
    assert (folder / "compile_options.pb").read_bytes() == frozen.compile_options
    assert json.loads((folder / "signature.json").read_text())["name"] == "model"
    assert len(capsys.readouterr().out.splitlines()) == 4
