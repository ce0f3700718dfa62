# SPDX-License-Identifier: Apache-2.0
"""Several CPU devices for all tests."""

import pytest

import olympus_xla
from olympus_ir.settings.config import config
from olympus_sharding import AxisType, make_mesh
from olympus_xla.platforms import backends

if not backends.are_backends_initialized() and config.olympus_num_cpu_devices < 4:
    config.update("olympus_num_cpu_devices", 4)


@pytest.fixture
def devices():
    devices = olympus_xla.devices("cpu")
    assert len(devices) >= 4, "another test package brought up the backends with fewer devices"
    return devices


@pytest.fixture
def mesh(devices):
    return make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2, devices=devices)
