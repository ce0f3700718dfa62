# SPDX-License-Identifier: Apache-2.0
"""Several CPU devices for the tests, unless another package has made a client."""

import pytest

import olympus_xla
from olympus_ir.settings.config import config
from olympus_xla.platforms import backends

if not backends.are_backends_initialized() and config.olympus_num_cpu_devices < 4:
    config.update("olympus_num_cpu_devices", 4)


@pytest.fixture
def devices():
    devices = olympus_xla.devices("cpu")
    assert len(devices) >= 2, "another test package brought up the backends with one device"
    return devices
