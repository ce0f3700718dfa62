# SPDX-License-Identifier: Apache-2.0
"""Eight emulated CPU devices for the tests of everything together."""

import pytest

import olympus
from olympus_xla.platforms import backends

if not backends.are_backends_initialized():
    olympus.config.update("olympus_num_cpu_devices", 8)


@pytest.fixture(scope="session")
def eight_devices():
    """The devices; skips where another test package has made fewer of them."""
    devices = olympus.devices("cpu")
    assert len(devices) == 8, f"the process has {len(devices)} devices: run the folder by itself"
    return devices
