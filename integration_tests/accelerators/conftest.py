# SPDX-License-Identifier: Apache-2.0
"""Tests on the accelerator of this machine, which only `nox -s accelerators` collects."""

import os

import pytest

import olympus

VARIABLE = "OLYMPUS_TEST_ACCELERATORS"

collect_ignore_glob = [] if VARIABLE in os.environ else ["test_*.py"]

# Several test processes share the memory of one accelerator.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@pytest.fixture(scope="session")
def accelerator():
    """The first accelerator, which is also the default device."""
    device = olympus.devices()[0]
    assert device.platform != "cpu", f"no accelerator is in use; unset {VARIABLE}"
    return device


@pytest.fixture(scope="session")
def cpu():
    return olympus.devices("cpu")[0]
