# SPDX-License-Identifier: Apache-2.0
import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
import traceback

import pytest

from olympus_ir._jaxlib import config_trace_context, config_trace_context_names
from olympus_ir.settings import config as public
from olympus_ir.settings import config_flags, config_states
from olympus_ir.settings.config import config, disable_jit, enable_x64, scope, transfer_guard
from olympus_ir.settings.config_states import current_scope
from olympus_ir.settings.configuration import (
    Configuration,
    Flag,
    State,
    member_of,
    one_of,
    truth,
    typed,
)

RECORD = json.loads(
    (pathlib.Path(__file__).parent / "data" / "dtypes_and_flags.json").read_text("utf-8")
)["flags"]
# Not part of jax's tracing key, but programs depend on them, or what is done with their results.
ADDED_TO_KEY = {
    "jax_debug_infs",
    "jax_debug_nans",
    "jax_default_prng_impl",
    "jax_enable_custom_prng",
    "jax_disable_bwd_checks",
    "jax_disable_vmap_shmap_error",
    "jax_refs_to_pins",
    "jax_ragged_dot_use_ragged_dot_instruction",
    "jax_experimental_unsafe_xla_runtime_errors",
    "jax_mosaic_allow_hlo",
    "jax_pallas_poison_buffers",
}


def ours(name):
    return name.replace("jax_", "olympus_", 1).replace("jaxpr", "olympuspr")


@pytest.fixture
def restored():
    """Lets a test update flags of the process."""
    before = {name: config.flag(name).get_global() for name in config}
    yield config
    for name, value in before.items():
        if config.flag(name).get_global() != value:
            config.update(name, value)


@pytest.mark.parametrize("name", RECORD)
def test_flags_match_the_record_of_jax(name):
    flag, facts = config.flag(ours(name)), RECORD[name]
    default = flag.default
    if facts["default"] is not None and hasattr(default, "name"):
        default = default.name.lower()
    assert default == facts["default"]
    assert type(default) is type(facts["default"])
    if facts["choices"] is not None:
        assert {choice.lower() for choice in flag.kind.choices} == {
            choice.lower() for choice in facts["choices"]
        }
    assert flag.shapes_programs == (facts["in_trace_context"] or name in ADDED_TO_KEY)
    if facts["context_manager"]:
        assert callable(getattr(public, name.removeprefix("jax_")))
    assert flag.description.endswith(".")


def test_no_flag_is_missing():
    extra = {
        "olympus_cache_dir",
        "olympus_cold_evaluation",
        "olympus_cpu_lowerings",
        "olympus_cpu_retained_memory",
        "olympus_jax2tf_associative_scan_reductions",
        "olympus_mock_num_gpu_processes",
        "olympus_outline_repeated_blocks",
        "olympus_program_cache",
        "olympus_show_compilation",
        "olympus_strong_zeros",
        "olympus_tiers",
    }
    assert set(config) - extra == {ours(name) for name in RECORD}


def test_update_and_read(restored):
    config.update("olympus_enable_x64", True)
    assert config.olympus_enable_x64 is True
    assert config.read("olympus_enable_x64") is True
    assert config.values["olympus_enable_x64"] is True
    assert config.x64_enabled is True
    assert config_states.enable_x64.value is True
    assert "olympus_enable_x64=True" in repr(config)
    config.update("olympus_enable_x64", None)
    assert config.olympus_enable_x64 is False
    assert repr(config) == "<olympus configuration: all defaults>"


def test_unknown_names_suggest_known_ones():
    with pytest.raises(AttributeError, match="Did you mean 'olympus_enable_x64'"):
        config.update("olympus_enable_x65", True)
    with pytest.raises(AttributeError, match="Did you mean 'olympus_enable_x64'"):
        config.update("jax_enable_x64", True)
    with pytest.raises(AttributeError, match="'olympus_debug_nans'"):
        config.read("debug_nans")
    with pytest.raises(AttributeError, match="Unrecognized config option: olympus_qqqqqqqq"):
        _ = config.olympus_qqqqqqqq
    assert not hasattr(config, "olympus_nothing")


def test_tracebacks_suggest_a_name_once():
    with pytest.raises(AttributeError) as caught:
        config.update("debug_nans", True)
    shown = "".join(traceback.format_exception_only(caught.value))
    assert shown.lower().count("did you mean") == 1


def test_assignment_to_flags_raises():
    with pytest.raises(AttributeError, match=r"config.update\('olympus_enable_x64', True\)"):
        config.olympus_enable_x64 = True
    with pytest.raises(AttributeError, match="Unrecognized config option"):
        config.olympus_nothing = True


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("numpy_rank_promotion", "foo", r"in \['allow', 'warn', 'raise'\], got 'foo'"),
        ("numpy_rank_promotion", None, "got None"),
        ("numpy_dtype_promotion", "foo", r"in \['standard', 'strict'\]"),
        ("default_matmul_precision", "foo", "None or in .*'BF16_BF16_F32'"),
        ("default_prng_impl", "foo", "threefry2x32"),
        ("transfer_guard", "foo", "disallow_explicit"),
        ("explicit_x64_dtypes", "foo", r"\['warn', 'error', 'allow'\]"),
        ("num_cpu_devices", "3", "None or of type int, got '3' of type str"),
        ("persistent_cache_min_compile_time_secs", "2", "None or of type float"),
        ("platforms", 3, "None or of type str"),
        ("default_device", 3, "devices"),
        ("enable_x64", "maybe", "truth value"),
        ("traceback_filtering", "foo", "quiet_remove_frames"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(name, value, message):
    with pytest.raises(ValueError, match=f"olympus_{name}: .*must be.*{message}"):
        config.update(f"olympus_{name}", value)


def test_values_are_converted(restored):
    config.update("olympus_persistent_cache_min_compile_time_secs", 2)
    assert type(config.olympus_persistent_cache_min_compile_time_secs) is float
    config.update("olympus_enable_x64", "yes")
    assert config.olympus_enable_x64 is True
    config.update("olympus_enable_x64", 0)
    assert config.olympus_enable_x64 is False
    config.update("olympus_numpy_dtype_promotion", "strict")
    assert config.olympus_numpy_dtype_promotion is config_states.NumpyDtypePromotion.STRICT
    assert config.olympus_numpy_dtype_promotion == "strict"
    config.update("olympus_default_device", "cpu")
    assert config.olympus_default_device == "cpu"


def test_context_managers_restore():
    assert not config.olympus_debug_nans
    with public.debug_nans(True):
        assert config.olympus_debug_nans
        with public.debug_nans(False):
            assert not config.olympus_debug_nans
        assert config.olympus_debug_nans
    assert not config.olympus_debug_nans
    with pytest.raises(RuntimeError), public.debug_nans(True):
        raise RuntimeError
    assert not config.olympus_debug_nans


def test_context_managers_of_switches_need_no_value():
    with public.check_tracer_leaks():
        assert config.olympus_check_tracer_leaks
    with public.checking_leaks():
        assert config.olympus_check_tracer_leaks
    with pytest.raises(TypeError, match="needs the new value as its argument"):
        public.numpy_rank_promotion()
    with pytest.raises(ValueError, match="'allow', 'warn', 'raise'"):
        public.numpy_rank_promotion("foo")


def test_context_managers_decorate():
    @enable_x64(True)
    def fib(n):
        assert config.olympus_enable_x64
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(5) == 5
    assert fib.__name__ == "fib"
    assert not config.olympus_enable_x64


def test_disable_jit_sets_flag_for_block():
    with disable_jit():
        assert config.olympus_disable_jit
        with disable_jit(False):
            assert not config.olympus_disable_jit
    with disable_jit(disable=True):
        assert config_states.disable_jit.value is True


def test_a_flag_is_not_a_condition():
    with pytest.raises(TypeError, match=r"read enable_x64\.value"):
        bool(enable_x64)
    assert repr(enable_x64) == "<State olympus_enable_x64=False>"


def test_transfer_guard_sets_all_directions(restored):
    directions = ("host_to_device", "device_to_device", "device_to_host")
    with transfer_guard("log"):
        assert {config.read(f"olympus_transfer_guard_{way}") for way in directions} == {"log"}
        with transfer_guard("allow"):
            assert config.olympus_transfer_guard_host_to_device == "allow"
        assert config.olympus_transfer_guard_host_to_device == "log"
    assert config.olympus_transfer_guard_host_to_device is None
    config.update("olympus_transfer_guard", "disallow")
    assert {config.read(f"olympus_transfer_guard_{way}") for way in directions} == {"disallow"}
    config.update("olympus_transfer_guard", None)
    assert {config.read(f"olympus_transfer_guard_{way}") for way in directions} == {None}
    with pytest.raises(ValueError, match="disallow_explicit"):
        transfer_guard("foo")


def in_another_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_scope_of_overrides(restored):
    with enable_x64(True):
        assert in_another_thread(lambda: config.olympus_enable_x64) is False
        config.update("olympus_enable_x64", True)
        assert in_another_thread(lambda: config.olympus_enable_x64) is True
        config.update("olympus_enable_x64", False)
        assert config.olympus_enable_x64 is True
    assert config.olympus_enable_x64 is False


def test_hooks_see_values():
    seen = []
    state = State("olympus_test", False, "A test.", truth)
    state.add_global_hook(lambda value: seen.append(("global", value)))
    state.add_local_hook(lambda value: seen.append(("local", value)))
    state.update(True)
    with state(False), state(True):
        pass
    assert seen == [
        ("global", False),
        ("global", True),
        ("local", False),
        ("local", True),
        ("local", False),
        ("local", None),
    ]


def test_validators_refuse():
    flag = Flag("olympus_test", 1, "A test.", typed(int, 1))

    def refuse_three(value):
        if value == 3:
            raise RuntimeError("too late")

    flag.add_validator(refuse_three)
    flag.update(2)
    with pytest.raises(RuntimeError, match="too late"):
        flag.update(3)
    assert flag.value == 2


def test_a_flag_is_declared_once():
    configuration = Configuration()
    configuration.add(Flag("olympus_test", 1, "A test.", typed(int, 1)))
    with pytest.raises(ValueError, match="declared twice"):
        configuration.add(Flag("olympus_test", 1, "A test.", typed(int, 1)))


def test_flags_of_programs_are_in_tracing_key(restored):
    samples = {"default_device": "cpu", "hlo_source_file_canonicalization_regex": "x"}
    initial = config_trace_context()
    for name in config:
        flag = config.flag(name)
        if not flag.shapes_programs:
            continue
        before = flag.value
        stem = name.removeprefix("olympus_")
        if isinstance(before, bool):
            value = not before
        elif flag.kind.choices:
            value = next(c for c in flag.kind.choices if flag.kind.parse(c) != before)
        else:
            value = samples.get(stem, 17)
        config.update(name, value)
        assert config_trace_context() != initial, name
        config.update(name, before)
        assert config_trace_context() == initial, name
        if isinstance(flag, State):
            with flag(value):
                assert config_trace_context() != initial, name
            assert config_trace_context() == initial, name


def test_tracing_key_does_not_depend_on_other_flags(restored):
    initial = config_trace_context()
    config.update("olympus_log_compiles", True)
    config.update("olympus_traceback_filtering", "off")
    assert config_trace_context() == initial


def test_tracing_key_is_short():
    # Each entry costs about 5 ns in every call of a compiled function.
    assert len(config_trace_context_names()) <= 25


def test_rare_states_share_entries_of_the_key(restored):
    strong_zeros = config_states.strong_zeros
    initial = config_trace_context()
    with strong_zeros(True), scope("metadata", 1):
        inside = config_trace_context()
        with strong_zeros(False):
            assert config_trace_context() not in (initial, inside)
        assert config_trace_context() == inside
    assert config_trace_context() == initial
    config.update("olympus_strong_zeros", True)
    everywhere = config_trace_context()
    with strong_zeros(False):
        assert not strong_zeros.value
        assert config_trace_context() not in (initial, inside, everywhere)
    assert config_trace_context() == everywhere != initial
    config.update("olympus_strong_zeros", False)
    assert config_trace_context() == initial


def test_scopes_are_part_of_the_trace_context():
    assert current_scope("compute_on") is None
    initial = config_trace_context()
    with scope("compute_on", "device_host"), scope("metadata", ("a", 1)):
        assert current_scope("compute_on") == "device_host"
        inside = config_trace_context()
        with scope("compute_on", "tpu"):
            assert current_scope("compute_on") == "tpu"
            assert current_scope("metadata") == ("a", 1)
        assert config_trace_context() == inside != initial
    assert config_trace_context() == initial
    with scope("metadata", ("a", 1)), scope("compute_on", "device_host"):
        assert config_trace_context() == inside


def test_every_flag_is_described():
    text = config.describe("olympus_numpy_rank_promotion")
    assert "dimensions" in text
    assert "['allow', 'warn', 'raise']" in text
    assert set(config) <= set(dir(config))


def test_logging_level_applies_to_loggers(restored, capsys):
    logger = logging.getLogger("olympus.test")
    config.update("olympus_logging_level", "INFO")
    logger.info("shown")
    logger.debug("not shown")
    config.update("olympus_logging_level", "NOTSET")
    logger.info("not shown any more")
    text = capsys.readouterr().err
    assert text.startswith("INFO:")
    assert text.count("shown") == 1
    assert not logging.getLogger("olympus").handlers


def test_debug_log_modules(restored, capsys):
    config.update("olympus_debug_log_modules", "olympus.first, olympus.second")
    for name in ("first", "second", "third"):
        logging.getLogger(f"olympus.{name}").debug("from %s", name)
    config.update("olympus_debug_log_modules", "")
    logging.getLogger("olympus.first").debug("silent again")
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["from first", "from second"]
    assert logging.getLogger("olympus.first").level == logging.NOTSET


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_environment_variables_set_flags():
    result = run(
        "from olympus_ir.settings.config import config as c; print(c.olympus_enable_x64, "
        "c.olympus_num_cpu_devices, c.olympus_numpy_dtype_promotion, "
        "c.olympus_persistent_cache_min_compile_time_secs, "
        "c.olympus_transfer_guard_device_to_host)",
        OLYMPUS_ENABLE_X64="on",
        OLYMPUS_NUM_CPU_DEVICES="4",
        OLYMPUS_NUMPY_DTYPE_PROMOTION="strict",
        OLYMPUS_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0.5",
        OLYMPUS_TRANSFER_GUARD="log",
    )
    assert result.stdout.split() == ["True", "4", "strict", "0.5", "log"], result.stderr


REFUSED = {
    "OLYMPUS_ENABLE_X64": ("maybe", "must be a truth value"),
    "OLYMPUS_NUM_CPU_DEVICES": ("many", "must be an integer, got 'many'"),
    "OLYMPUS_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": ("1 s", "must be a number, got '1 s'"),
    "OLYMPUS_NUMPY_RANK_PROMOTION": ("foo", "must be in ['allow', 'warn', 'raise']"),
}


def test_environment_variables_are_checked():
    result = run("import olympus_ir", **{variable: text for variable, (text, _) in REFUSED.items()})
    assert result.returncode == 1
    frames = [line for line in result.stderr.splitlines() if line.startswith("  File")]
    assert len(frames) <= 3, result.stderr
    said = dict(
        line.removeprefix("ValueError: ").removeprefix("The environment variable ").split(" is ", 1)
        for line in result.stderr.splitlines()
        if "The environment variable" in line
    )
    assert set(said) == set(REFUSED)
    for variable, (text, message) in REFUSED.items():
        assert said[variable].startswith(repr(text))
        assert message in said[variable]
        assert said[variable].endswith("unset it")


def test_late_flags_are_checked():
    result = run(
        "from olympus_ir.settings.configuration import declare_flag, truth\n"
        "declare_flag('late', False, truth, 'A flag.')",
        OLYMPUS_LATE="maybe",
    )
    assert "ValueError: The environment variable OLYMPUS_LATE is 'maybe'" in result.stderr


def test_parsers_accept_values_and_texts():
    assert one_of(("a", "b"), optional=True).parse(None) is None
    assert member_of(config_flags.ExplicitX64Mode).parse("allow").name == "ALLOW"
    with pytest.raises(ValueError, match="must be"):
        one_of(("a",)).parse(["a"])
    with pytest.raises(ValueError, match="must be"):
        member_of(config_flags.ExplicitX64Mode).parse(1)


def test_origin_of_a_value(restored):
    code = """
from olympus_ir.settings.config import config
config.answer_to("jax_")
config.update("olympus_enable_checks", True)
for name in ("enable_x64", "log_compiles", "enable_checks", "debug_nans"):
    print(config.flag("olympus_" + name).origin)
"""
    environment = {**os.environ, "OLYMPUS_ENABLE_X64": "1", "JAX_LOG_COMPILES": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["OLYMPUS_ENABLE_X64", "JAX_LOG_COMPILES", "program", "default"]


def test_update_takes_its_parameters_by_name() -> None:
    before = config.olympus_numpy_rank_promotion
    config.update(name="olympus_numpy_rank_promotion", val="warn")
    assert config.olympus_numpy_rank_promotion == "warn"
    config.update("olympus_numpy_rank_promotion", before)
