# SPDX-License-Identifier: Apache-2.0
"""Devices for the tests: a separate CPU client, so that no runtime package is needed."""

import pytest
from jaxlib import xla_client

from olympus_sharding import Mesh


@pytest.fixture(scope="session")
def devices():
    return xla_client.make_cpu_client(num_devices=8).devices()


@pytest.fixture
def mesh(devices):
    return Mesh([devices[:2], devices[2:4]], ("x", "y"))
