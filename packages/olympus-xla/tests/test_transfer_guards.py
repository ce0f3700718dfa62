# SPDX-License-Identifier: Apache-2.0
"""Transfer guards: what the configured levels allow."""

import numpy as np
import pytest

from olympus_ir.settings.config import (
    config,
    thread_guard,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_host_to_device,
)
from olympus_xla import device_get, device_put
from olympus_xla._jaxlib import JaxRuntimeError
from olympus_xla.arrays import transfer_guards
from olympus_xla.arrays.transfer import put_leaf


def implicit():
    return put_leaf(np.ones(3))


def test_implicit_and_explicit_transfers_are_distinguished(devices):
    array = device_put(np.ones(3))
    with transfer_guard("disallow"):
        assert device_put(np.ones(3)).shape == (3,)
        assert device_put(array, devices[1]).devices() == {devices[1]}
        assert device_get(array).shape == (3,)
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            implicit()
        with pytest.raises(JaxRuntimeError, match="Disallowed device-to-device transfer"):
            put_leaf(array, devices[1])
    assert implicit().shape == (3,)


def test_explicit_transfers_can_be_disallowed_too(devices):
    array = device_put(np.ones(3))
    with transfer_guard("disallow_explicit"):
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            device_put(np.ones(3))
        with pytest.raises(JaxRuntimeError, match="Disallowed device-to-device transfer"):
            device_put(array, devices[1])


def test_directions_are_guarded_separately(devices):
    with transfer_guard_device_to_device("disallow"):
        array = implicit()
    with transfer_guard_host_to_device("disallow"):
        assert put_leaf(array, devices[1]).devices() == {devices[1]}


def test_inner_guards_take_precedence():
    with transfer_guard("disallow"), transfer_guard("allow"):
        assert implicit().shape == (3,)


def test_guards_of_the_process(devices):
    config.update("olympus_transfer_guard_host_to_device", "disallow")
    try:
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            implicit()
    finally:
        config.update("olympus_transfer_guard_host_to_device", "allow")
    assert implicit().shape == (3,)


def test_thread_guard_of_runtime_follows_flag(monkeypatch):
    levels = []
    monkeypatch.setattr(transfer_guards, "update_thread_guard", levels.append)
    with thread_guard(True), thread_guard(False):
        pass
    assert levels == [True, False, True, False]
    config.update("olympus_thread_guard", True)
    with thread_guard(False):
        pass
    config.update("olympus_thread_guard", False)
    assert levels[4:] == [True, False, True, False]
