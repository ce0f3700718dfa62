# SPDX-License-Identifier: Apache-2.0
"""Flags of test suites: how many cases run, and which."""

from __future__ import annotations

from olympus_ir.settings.configuration import declare_flag, truth, typed

__all__ = [
    "MOST_RETRIES",
    "NUM_GENERATED_CASES",
    "SKIP_SLOW_TESTS",
    "TEST_DUT",
    "TEST_NUM_THREADS",
    "TEST_WITH_PERSISTENT_COMPILATION_CACHE",
]

NUM_GENERATED_CASES = declare_flag(
    "num_generated_cases", 10, typed(int, 10), "The number of cases sampled for each test."
)
MOST_RETRIES = declare_flag(
    "max_cases_sampling_retries",
    100,
    typed(int, 100),
    "The number of samples without a new case after which no more cases are sampled.",
)
SKIP_SLOW_TESTS = declare_flag(
    "skip_slow_tests", False, truth, "Whether to skip tests that take more than 5 seconds."
)
TEST_DUT = declare_flag("test_dut", "", typed(str, ""), "The platform that tests are for.")
TEST_NUM_THREADS = declare_flag(
    "test_num_threads", 0, typed(int, 0), "The number of threads that run tests; 0 for none."
)
TEST_WITH_PERSISTENT_COMPILATION_CACHE = declare_flag(
    "test_with_persistent_compilation_cache",
    False,
    truth,
    "Whether each test runs with a cache of executables in a directory of its own.",
)
