# SPDX-License-Identifier: Apache-2.0
"""Reports on programs, of olympus-insight."""

from __future__ import annotations

from olympus_insight import explain as explain
