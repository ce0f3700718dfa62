# SPDX-License-Identifier: Apache-2.0
"""Third parties' plugins, by environment variable."""

import pytest

from olympus_xla.platforms.plugins.named_libraries import (
    VARIABLE,
    parse_client_options,
    parse_names_and_paths,
)


def test_names_and_paths():
    assert parse_names_and_paths("") == {}
    assert parse_names_and_paths("a:/x/a.so, b:/y/b.so") == {"a": "/x/a.so", "b": "/y/b.so"}
    with pytest.raises(ValueError, match="got the entry 'nonsense'"):
        parse_names_and_paths("nonsense")


def test_client_options_are_parsed():
    assert parse_client_options(None) == {}
    assert parse_client_options("kind:big;count:3;low:-1") == {"kind": "big", "count": 3, "low": -1}
    with pytest.raises(ValueError, match="got the entry 'nonsense'"):
        parse_client_options("nonsense")


def test_a_missing_library_is_an_error(run_python):
    result = run_python("import olympus_xla", check=False, **{VARIABLE: "abacus:/not/there.so"})
    assert result.returncode == 1
    assert "FileNotFoundError: the library /not/there.so of the PJRT plugin" in result.stderr


def test_a_broken_library_falls_back_to_cpu(run_python, tmp_path):
    library = tmp_path / "plugin.so"
    library.write_text("not a library")
    code = "import olympus_xla; print(olympus_xla.devices())"
    result = run_python(code, check=False, **{VARIABLE: f"abacus:{library}"})
    assert result.returncode == 0
    assert result.stdout.strip() == "[CpuDevice(id=0)]"
    assert "the abacus backend failed" in result.stderr
    asked = {VARIABLE: f"abacus:{library}", "OLYMPUS_PLATFORMS": "abacus"}
    result = run_python(code, check=False, **asked)
    assert "Unable to initialize backend 'abacus'" in result.stderr
