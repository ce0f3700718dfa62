# SPDX-License-Identifier: Apache-2.0
"""Short programs from textbooks, in plain Python, and compiled with ``control_flow=True``.

A program runs in plain Python on numbers and NumPy arrays, and compiled on traced values: the
results agree, alone and batched. `SMOOTH` programs have derivatives by their first argument.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import olympus

compiled = functools.partial(olympus.jit, control_flow=True)

PROGRAMS = []
SMOOTH = []


def program(*examples, smooth=False):
    def register(fun):
        PROGRAMS.extend((fun, example) for example in examples)
        if smooth:
            SMOOTH.extend((fun, example) for example in examples)
        return fun

    return register


@program((-3.0,), (2.0,), smooth=True)
def absolute(x):
    if x >= 0:
        return x
    return -x


@program((-2.5,), (0.0,), (7.0,))
def sign(x):
    return 1 if x > 0 else -1 if x < 0 else 0


@program((-2.0, 0.0, 1.0), (0.5, 0.0, 1.0), (3.0, 0.0, 1.0), smooth=True)
def clamp(x, low, high):
    return low * x if x < low else high * x if x > high else x * x


@program((27,), (1,), (6,))
def collatz_steps(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program((48, 18), (17, 5), (0, 4))
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@program((48, 18), (17, 5))
def lcm(a, b):
    return a * b // gcd(a, b)


@program((240, 46), (35, 15))
def extended_gcd(a, b):
    x, y, u, v = 0, 1, 1, 0
    while a != 0:
        quotient, remainder = b // a, b % a
        m, n = x - u * quotient, y - v * quotient
        b, a, x, y, u, v = a, remainder, u, v, m, n
    return b, x, y


@program((97,), (91,), (1,), (2,))
def is_prime(n):
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


@program((30,), (2,))
def count_primes(limit):
    count = 0
    for n in range(2, limit):
        if is_prime(n):
            count += 1
    return count


@program((10,), (0,), (1,))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@program((1.5, 9), (0.9, 0), smooth=True)
def power(base, exponent):
    result = base * 0 + 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base
        base = base * base
        exponent = exponent // 2
    return result


@program((2.0,), (50.0,), smooth=True)
def square_root(a):
    x = a
    for _ in range(40):
        better = 0.5 * (x + a / x)
        if abs(better - x) < 1e-12 * x:
            break
        x = better
    return better


@program((2.0, 0.0, 4.0), (10.0, 0.0, 4.0))
def bisection(target, low, high):
    def excess(x):
        return x * x * x - target

    while high - low > 1e-6:
        middle = (low + high) / 2
        if excess(low) * excess(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@program((2.0,), (3.0,), smooth=True)
def secant(a):
    x0, x1 = 1.0, 3.0
    steps = 0
    while abs(x1 - x0) > 1e-10 and steps < 60:
        f0, f1 = x0 * x0 - a, x1 * x1 - a
        if f1 == f0:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        steps += 1
    return x1


@program((5,), (0,))
def factorial(n):
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


@program((10, 3), (6, 6))
def binomial(n, k):
    if k > n - k:
        k = n - k
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


@program((98765,), (0,))
def digit_sum(n):
    total = 0
    while n > 0:
        total, n = total + n % 10, n // 10
    return total


@program((1234,), (7,))
def reverse_digits(n):
    result = 0
    while n:
        result = result * 10 + n % 10
        n //= 10
    return result


@program((12321,), (12345,))
def is_palindrome(n):
    return n == reverse_digits(n)


@program((2000,), (1900,), (2024,), (2023,))
def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@program((3, 4, 5), (1, 1, 3), (2, 2, 2), (2, 2, 3))
def triangle_kind(a, b, c):
    if not (a + b > c and b + c > a and a + c > b):
        return -1
    if a == b == c:
        return 3
    if a == b or b == c or a == c:  # noqa: SIM109
        return 2
    return 1


@program((1.0, -3.0, 2.0), (1.0, 2.0, 1.0), (1.0, 0.0, 4.0))
def real_roots(a, b, c):
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return 0, 0.0, 0.0
    root = discriminant**0.5
    if discriminant == 0:
        return 1, -b / (2 * a), -b / (2 * a)
    return 2, (-b - root) / (2 * a), (-b + root) / (2 * a)


@program((3, 1, 2), (1, 2, 3), (2, 2, 1))
def median_of_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return b


@program((np.array([3.0, 1.0, 2.0, 5.0, 4.0]),))
def bubble_sort(items):
    n = len(items)
    for i in range(n):
        for j in range(n - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


@program((np.array([3, 1, 2, 5, 4, 0]),))
def insertion_sort(items):
    for i in range(1, len(items)):
        key = items[i] * 1
        j = i - 1
        while j >= 0 and items[j] > key:
            items[j + 1] = items[j]
            j -= 1
        items[j + 1] = key
    return items


@program((np.array([3, 1, 2, 0]),), (np.array([9, 8, 7, 6]),))
def sorting_network(items):
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
        if items[i] > items[j]:
            items[i], items[j] = items[j], items[i]
    return items


@program((np.array([4, 7, 9, 1]), 9), (np.array([4, 7, 9, 1]), 5))
def linear_search(items, key):
    for i in range(len(items)):
        if items[i] == key:
            return i
    return -1


@program((np.array([1, 3, 5, 8, 13]), 8), (np.array([1, 3, 5, 8, 13]), 4))
def binary_search(items, key):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == key:
            return middle
        if items[middle] < key:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@program((np.array([1, 2, 4, 7, 11]), 9), (np.array([1, 2, 4, 7, 11]), 100))
def pair_with_sum(items, target):
    left, right = 0, len(items) - 1
    while left < right:
        total = items[left] + items[right]
        if total == target:
            return left, right
        elif total < target:
            left += 1
        else:
            right -= 1
    return -1, -1


@program((np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4]),))
def largest_subarray_sum(items):
    best = current = items[0]
    for item in items[1:]:
        current = max(item, current + item)
        best = max(best, current)
    return best


@program((0.7,), (-1.2,), smooth=True)
def exponential_series(x):
    total, term, n = 0.0, 1.0, 0
    while abs(term) > 1e-14:
        total += term
        n += 1
        term = term * x / n
    return total


@program((0.01,), (0.1,))
def leibniz(tolerance):
    total, k = 0.0, 0
    while True:
        term = 4.0 / (2 * k + 1)
        if term < tolerance:
            break
        total += term if k % 2 == 0 else -term
        k += 1
    return total, k


@program((2.0, 8), (0.5, 3), smooth=True)
def trapezoid(b, n):
    h = b / n
    total = (0.0 + b * b) / 2
    for i in range(1, n):
        x = i * h
        total += x * x
    return total * h


@program((1.0, 0.1), (2.0, 0.25), smooth=True)
def decay(y, step):
    t = 0.0
    while t < 1.0:
        y += step * -y
        t += step
    return y


@program((1.5,), (0.2,), smooth=True)
def adaptive_steps(y):
    t, h, rejected = 0.0, 0.5, 0
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        full = y - h * y * y
        half = y - h / 2 * y * y
        half = half - h / 2 * half * half
        if abs(full - half) > 1e-3:
            h = h / 2
            rejected += 1
            continue
        y, t = half, t + h
        h = 2 * h
    return y


@program((1, 3), (1, 4), (0, 3), (1, 1))
def cell_lives(alive, neighbors):
    if alive:
        return neighbors == 2 or neighbors == 3
    return neighbors == 3


@program((np.array([1, 1, 1, 0, 2, 2, 0, 0, 0]),), (np.array([2, 1, 1, 1, 2, 0, 1, 0, 2]),))
def tic_tac_toe_winner(board):
    for a, b, c in ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)):
        if board[a] != 0 and board[a] == board[b] == board[c]:
            return board[a]
    return 0


@program((np.array([3, 4, 5]),), (np.array([1, 1, 0]),))
def nim_move(heaps):
    total = 0
    for heap in heaps:
        total = total ^ heap
    if total == 0:
        return -1, 0
    for i in range(len(heaps)):
        if heaps[i] ^ total < heaps[i]:
            return i, heaps[i] - (heaps[i] ^ total)
    return -1, 0


@program(
    (np.array([52, 50, 55, 32]),), (np.array([45, 49, 50, 51]),), (np.array([32, 32, 32, 57]),)
)
def parse_integer(characters):
    value, negative, started = 0, False, False
    for c in characters:
        if c == ord("-") and not started:
            negative = started = True
        elif ord("0") <= c <= ord("9"):
            value = value * 10 + (c - ord("0"))
            started = True
        elif started:
            break
    return -value if negative else value


@program(
    (np.array([40, 40, 41, 41]),), (np.array([41, 40, 40, 41]),), (np.array([40, 40, 41, 40]),)
)
def balanced(characters):
    depth = 0
    for c in characters:
        depth += 1 if c == 40 else -1
        if depth < 0:
            return False
    return depth == 0


@program((np.array([1, 1, 2, 2, 2, 3]),), (np.array([5, 6, 6, 7, 8, 8]),))
def longest_run(items):
    longest = run = 1
    for i in range(1, len(items)):
        if items[i] == items[i - 1]:
            run += 1
        else:
            run = 1
        if run > longest:
            longest = run
    return longest


@program((5000.0,), (25000.0,), (80000.0,), smooth=True)
def income_tax(income):
    tax, remaining = 0.0, income
    for width, rate in ((10000.0, 0.1), (30000.0, 0.2), (1e9, 0.3)):
        if remaining <= 0:
            break
        part = min(remaining, width)
        tax += part * rate
        remaining -= part
    return tax


@program((100.0, 0.07), (100.0, 0.5))
def years_to_double(amount, rate):
    goal, years = 2 * amount, 0
    while amount < goal:
        amount *= 1 + rate
        years += 1
    return years


@program((3.0, 0.3), (-1.0, 0.2), smooth=True)
def gradient_descent(x, rate):
    for _ in range(200):
        slope = 2 * (x - 1) + 0.1 * x**3
        if abs(slope) < 1e-3:
            break
        x = x - rate * slope * 0.5
    return x


@program((0.1, 0.1), (1.0, 1.0), (-0.7, 0.4))
def mandelbrot_steps(re, im):
    x = y = 0.0
    for n in range(50):
        if x * x + y * y > 4:
            return n
        x, y = x * x - y * y + re, 2 * x * y + im
    return 50


@program((28,), (12,))
def is_perfect(n):
    total = 0
    for divisor in range(1, n):
        if n % divisor == 0:
            total += divisor
    return total == n


@program((15,), (9,), (10,), (7,))
def fizz_buzz(n):
    if n % 15 == 0:
        return 3
    elif n % 5 == 0:
        return 2
    elif n % 3 == 0:
        return 1
    else:
        return 0


@program((2026, 11, 23), (2000, 1, 1))
def day_of_week(year, month, day):
    if month < 3:
        month += 12
        year -= 1
    century, rest = year // 100, year % 100
    return (day + 13 * (month + 1) // 5 + rest + rest // 4 + century // 4 + 5 * century) % 7


@program((6.0, 3), (1.0, 0), smooth=True)
def nested_loops(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            if (i + j) % 3 == 2:
                continue
            total += x * i - j
            if total > 30:
                return total
    return total


@program((np.array([3.0, -1.0, 4.0]), 2.5), (np.array([0.5, 0.1, 0.2]), 9.0))
def first_above(items, threshold):
    for position, item in enumerate(items):
        if item > threshold:
            return position, item
    else:
        position, item = -1, 0.0
    return position, item


def name(case):
    return case.__name__ if callable(case) else None


def plain(fun, example):
    """Runs a program in Python, on copies of the arrays."""
    return fun(*(value.copy() if isinstance(value, np.ndarray) else value for value in example))


def assert_close(got, want):
    got, want = olympus.tree.leaves(got), olympus.tree.leaves(want)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9, atol=1e-12)


@pytest.fixture(autouse=True)
def double_precision():
    with olympus.enable_x64(True):
        yield


@pytest.mark.parametrize("fun, example", PROGRAMS, ids=name)
def test_compiled_programs_equal_plain_python(fun, example):
    assert_close(compiled(fun)(*example), plain(fun, example))


def by_program(cases):
    groups = {}
    for fun, example in cases:
        groups.setdefault(fun, []).append(example)
    return sorted(groups.items(), key=lambda group: group[0].__name__)


@pytest.mark.parametrize("fun, examples", by_program(PROGRAMS), ids=name)
def test_programs_under_vmap(fun, examples):
    batch = [np.stack(column) for column in zip(*examples, strict=True)]
    got = olympus.vmap(compiled(fun))(*batch)
    for position, example in enumerate(examples):
        assert_close(olympus.tree.map(lambda x, n=position: x[n], got), plain(fun, example))


@pytest.mark.parametrize("fun, example", SMOOTH, ids=name)
def test_programs_have_derivatives(fun, example):
    x, *others = example
    _, derivative = olympus.jvp(lambda x: compiled(fun)(x, *others), (x,), (1.0,))
    step = 1e-5 * max(abs(x), 1.0)
    above, below = fun(x + step, *others), fun(x - step, *others)
    np.testing.assert_allclose(derivative, (above - below) / (2 * step), rtol=2e-4, atol=1e-6)
