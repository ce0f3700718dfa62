# SPDX-License-Identifier: Apache-2.0
"""Backends: initialization, flags, look-up, the default device, clearing."""

import platform
import threading

import numpy as np
import pytest

import olympus_xla
from olympus_ir.settings import config
from olympus_xla import device_put
from olympus_xla.platforms import backends

LIST_DEVICES = "import olympus_xla; print(olympus_xla.devices())"


def test_devices_of_the_process(devices):
    assert repr(devices[0]) == "CpuDevice(id=0)"
    assert olympus_xla.local_devices() == devices
    assert olympus_xla.local_devices(0) == olympus_xla.local_devices(host_id=0) == devices
    assert olympus_xla.device_count() == olympus_xla.local_device_count("cpu") == len(devices)
    assert olympus_xla.default_backend() == "cpu"
    assert olympus_xla.process_index() == olympus_xla.host_id() == 0
    assert olympus_xla.process_count() == olympus_xla.host_count() == 1
    assert olympus_xla.process_indices() == olympus_xla.host_ids() == [0]
    assert olympus_xla.devices(devices[0].client) == devices
    assert list(backends.backends()) == ["cpu"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: olympus_xla.devices("gpu"),
            RuntimeError,
            "no platforms that are instances of gpu",
        ),
        (lambda: olympus_xla.devices("cuda"), RuntimeError, "Platforms present are: cpu"),
        (lambda: olympus_xla.devices("abacus"), RuntimeError, "Unknown backend abacus. Available"),
        (lambda: olympus_xla.local_devices(3), ValueError, "Unknown process_index 3"),
        (lambda: olympus_xla.local_devices(-1), ValueError, "Unknown process_index -1"),
    ],
)
def test_unavailable_platforms_and_devices(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_name_is_the_default_platform():
    assert olympus_xla.devices("") == olympus_xla.devices()


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, 1),
        ({"OLYMPUS_NUM_CPU_DEVICES": "3"}, 3),
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, 2),
        (
            {
                "OLYMPUS_NUM_CPU_DEVICES": "3",
                "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
            },
            3,
        ),
        ({"OLYMPUS_PLATFORMS": "cpu"}, 1),
        ({"OLYMPUS_PLATFORM_NAME": "cpu"}, 1),
    ],
)
def test_number_of_cpu_devices(run_python, environment, count):
    assert run_python(LIST_DEVICES, **environment).count("CpuDevice") == count


@pytest.mark.parametrize(
    ("platforms", "message"),
    [
        ("abacus", "Unable to initialize backend 'abacus': it is not in the list of known"),
        ("cuda", "Unable to initialize backend 'cuda': no CUDA plugin is installed"),
        ("tpu", "Unable to initialize backend 'tpu': no libtpu is installed"),
        ("cuda,tpu", "Unable to initialize backend 'cuda': no CUDA plugin is installed"),
        ("abacus,cpu", "Unable to initialize backend 'abacus': it is not in the list of known"),
    ],
)
def test_requested_platforms_must_be_available(run_python, platforms, message):
    result = run_python(LIST_DEVICES, check=False, OLYMPUS_PLATFORMS=platforms)
    assert result.returncode == 1
    assert f"RuntimeError: {message}" in result.stderr


def test_uninstalled_platforms_in_a_list_are_skipped(run_python):
    result = run_python(LIST_DEVICES, check=False, OLYMPUS_PLATFORMS="cuda,cpu")
    assert result.stdout.strip() == "[CpuDevice(id=0)]"
    assert "the cuda backend failed: no CUDA plugin is installed" in result.stderr
    assert "Falling back to cpu." in result.stderr


def test_changing_flags_after_backend_initialization_raises(devices):
    with pytest.raises(RuntimeError, match="should be updated before backends are initialized"):
        config.config.update("olympus_num_cpu_devices", 2)


def test_unchanged_flags_can_be_set_after_backend_initialization(devices):
    config.config.update("olympus_num_cpu_devices", config.config.olympus_num_cpu_devices)


def test_registering_platforms_after_initialization_raises(devices):
    with pytest.raises(RuntimeError, match="registered too late"):
        backends.register_platform(backends.Platform("abacus", lambda: None))


def test_fallback_to_cpu_warns_once(run_python):
    code = """
import olympus_xla
from olympus_xla.platforms.backends import Platform, register_platform

def fail():
    raise RuntimeError("no beads")

register_platform(Platform("abacus", fail))
hint = lambda: "there may be knots"
register_platform(Platform("quipu", fail, is_installed=lambda: False, hint=hint))
olympus_xla.devices()
olympus_xla.devices()
"""
    result = run_python(code, check=False)
    assert result.returncode == 0
    assert result.stderr.strip() == (
        "the abacus backend failed: no beads; there may be knots. Falling back to cpu."
    )
    assert run_python(code, check=False, OLYMPUS_PLATFORMS="cpu").stderr == ""


def test_clearing_makes_new_clients(run_python):
    code = """
import olympus_xla
from olympus_ir.settings.config import config
from olympus_xla.platforms import backends
dropped = []
backends.on_clear_backends(lambda: dropped.append(1))
old = olympus_xla.device_put(1.0)
olympus_xla.clear_backends()
config.update("olympus_num_cpu_devices", 2)
print(len(olympus_xla.devices()), float(old), olympus_xla.device_put(2.0).devices(), dropped)
"""
    assert run_python(code) == "2 1.0 {CpuDevice(id=0)} [1]"


@pytest.mark.skipif(platform.libc_ver() < ("glibc", "2.36"), reason="a setting of the C library")
@pytest.mark.parametrize("retained", ["0", "300000000"])
def test_free_memory_is_retained(run_python, retained):
    code = """
import numpy, olympus_xla

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 10**6

olympus_xla.devices()
before = resident()
block = numpy.ones(100 * 2**17)
full = resident()
del block
kept = resident()
olympus_xla.clear_caches()
print(full - before > 90, kept - before > 90, resident() - before > 90)
"""
    found = run_python(code, OLYMPUS_CPU_RETAINED_MEMORY=retained)
    assert found == f"True {retained != '0'} False"


def test_threads_share_one_client(run_python):
    code = """
import threading, olympus_xla
from olympus_xla import _jaxlib
from olympus_xla.platforms import backends
made = []
make = _jaxlib.make_cpu_client
_jaxlib.make_cpu_client = lambda **options: made.append(1) or make(**options)
threads = [threading.Thread(target=olympus_xla.devices) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(made))
"""
    assert run_python(code) == "1"


def test_default_device_is_configurable(devices):
    assert device_put(1.0).devices() == {devices[0]}
    with config.default_device(devices[2]):
        assert device_put(1.0).devices() == {devices[2]}
        assert not device_put(1.0).committed
        assert backends.default_device() is devices[2]
        assert backends.default_device_for(None) is devices[2]
        assert backends.default_device_for("cpu") is devices[0]
    with config.default_device("cpu"):
        assert device_put(1.0).devices() == {devices[0]}
    with config.default_device("gpu"), pytest.raises(RuntimeError, match="instances of gpu"):
        device_put(1.0)
    for value in (3, "no such platform"):
        with pytest.raises(ValueError, match="must be passed either a Device object"):
            config.default_device(value)


def test_default_device_is_local_to_the_thread(devices):
    seen = []
    with config.default_device(devices[2]):
        thread = threading.Thread(target=lambda: seen.append(backends.default_device()))
        thread.start()
        thread.join()
    assert seen == [devices[0]]


def test_shardings_of_devices_are_one_object(devices):
    assert backends.device_sharding(devices[1]) is backends.device_sharding(devices[1])
    assert backends.default_sharding() is backends.device_sharding(devices[0])


def test_live_arrays_are_listed(devices):
    array = device_put(np.arange(3), devices[1])
    assert any(each is array for each in olympus_xla.live_arrays())
    assert any(each is array for each in olympus_xla.live_arrays("cpu"))
    with pytest.raises(RuntimeError, match="Unknown backend"):
        olympus_xla.live_arrays("abacus")
