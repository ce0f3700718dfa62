# SPDX-License-Identifier: Apache-2.0
"""The contributor's loop: ``nox --list`` is the manual, and CI runs ``nox`` and nothing else.

Sessions come from packages/*/pyproject.toml, so that a new package is tested because it exists.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox
from nox.command import CommandFailed
from packaging.requirements import Requirement

nox.needs_version = ">=2025.2.9"

ROOT = Path(__file__).parent
DIST = ROOT / "dist"

PROJECTS = {
    path.parent.name: nox.project.load_toml(path)
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
}

# The default session runs on the interpreter of nox; other sessions use these versions.
NEWER_PYTHONS = ["3.12", "3.13"]


# -- Dependencies between packages --------------------------------------------------------------


def members(requirements: Iterable[str]) -> list[str]:
    """Returns the packages of this repository that are named by ``requirements``."""
    return [name for r in requirements if (name := Requirement(r).name) in PROJECTS]


def external(requirements: Iterable[str]) -> list[str]:
    """Returns the requirements that are met from the package index."""
    return [r for r in requirements if Requirement(r).name not in PROJECTS]


def closure(roots: Iterable[str]) -> list[str]:
    """Returns ``roots`` and the packages that they declare, directly or not."""
    found: list[str] = []
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found:
            found.append(name)
            todo += members(PROJECTS[name]["project"]["dependencies"])
    return found


def test_group(package: str) -> list[str]:
    """Returns the requirements of the package's tests."""
    return PROJECTS[package]["dependency-groups"]["test"]


def import_name(package: str) -> str:
    """Returns the name under which ``package`` is imported."""
    return package.replace("-", "_")


PACKAGES = sorted(PROJECTS, key=lambda name: (len(closure([name])), name))  # lowest first


# -- Installing packages ------------------------------------------------------------------------


def editable(packages: Iterable[str]) -> list[str]:
    """Returns the arguments that install ``packages`` from the checkout, editable."""
    return [argument for name in packages for argument in ("-e", f"packages/{name}")]


def wheel(package: str) -> str:
    """Returns the path of the built wheel of ``package``."""
    (path,) = DIST.glob(f"{import_name(package)}-[0-9]*.whl")
    return str(path)


def install_workspace(session: nox.Session, *requirements: str, extras: str = "") -> None:
    """Installs every package from the checkout, editable, and ``requirements``."""
    packages = [f"{name}{extras}" if name == "olympus" else name for name in PACKAGES]
    session.install(*editable(packages), *requirements)


def test_requirements() -> list[str]:
    """Returns the requirements of the tests of all packages that the package index serves."""
    return sorted({r for name in PACKAGES for r in external(test_group(name))})


def install_peer(session: nox.Session) -> str:
    """Installs JAX in an environment of its own and returns the path of its interpreter."""
    peer = Path(session.create_tmp()) / "peer"
    session.run("python", "-m", "venv", "--clear", str(peer), silent=True)
    peer_python = next(p for p in peer.glob("*/python*") if p.stem == "python")
    session.run(
        *(str(peer_python), "-m", "pip", "install", "-q", "jax==0.10.2", "jaxlib==0.10.2"),
        external=True,
    )
    return str(peer_python)


def run_pytest(session: nox.Session, *arguments: str, env: Mapping[str, str] | None = None) -> None:
    """Runs pytest on all cores with the settings of the root pyproject.toml.

    Neighboring tests go to the same process, which has compiled what they share. Tests marked
    ``thorough`` are left out unless the arguments ask for them.
    """
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "--thorough=skip")
    processes = ("-n", "auto", "--dist", "worksteal")
    command = ("python", "-m", "pytest", *settings, *processes, *arguments, *session.posargs)
    session.run(*command, env=env)


def run_together(session: nox.Session, *commands: tuple[str, ...]) -> None:
    """Runs commands side by side, each on one core, and shows the output of each at its end."""

    def run(command: tuple[str, ...]) -> None:
        print(session.run(*command, silent=True))

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(run, commands))


# -- Sessions -----------------------------------------------------------------------------------


@nox.session(reuse_venv=True)
def lint(session: nox.Session) -> None:
    """Style and formatting (ruff), and American spelling (codespell)."""
    session.install("ruff~=0.17.6", "codespell~=2.4.1")  # the releases in .pre-commit-config.yaml
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")


@nox.session(reuse_venv=True)
def imports(session: nox.Session) -> None:
    """Import boundaries: the contracts, and imported edges equal to declared dependencies."""
    install_workspace(session, "import-linter>=2.1", "packaging")
    session.run("lint-imports", "--no-cache")
    session.run("python", "tools/check_dependencies.py")


@nox.session(reuse_venv=True)
def types(session: nox.Session) -> None:
    """Static types: of the packages (basedpyright), and in users' programs (mypy too)."""
    install_workspace(session, "basedpyright>=1.29", "mypy>=1.18", *test_requirements())
    if session.posargs:
        session.run("basedpyright", *session.posargs)
        return
    # an explicit list, so that no package is missing
    sources = [f"packages/{package}/src" for package in PACKAGES]
    run_together(
        session,
        ("basedpyright", *sources[::2]),
        ("basedpyright", *sources[1::2]),
        ("python", "tools/stubs.py", "--check"),
        ("python", "tools/check_user_types.py"),
    )


@nox.session(reuse_venv=True)
def wheels(session: nox.Session) -> None:
    """Builds the wheel of every package into dist/."""
    session.install("hatchling>=1.27")
    shutil.rmtree(DIST, ignore_errors=True)
    for package in PACKAGES:
        with session.chdir(ROOT / "packages" / package):
            session.run("hatchling", "build", "-t", "wheel", "-d", str(DIST), silent=True)


def tests(session: nox.Session, package: str) -> None:
    """Runs the tests in an editable install of the package and its declared dependencies."""
    group = test_group(package)
    session.install(*editable(closure([package, *members(group)])), *external(group))
    run_pytest(session, f"packages/{package}/tests")


def isolated(session: nox.Session, package: str) -> None:
    """Runs the tests from wheels, outside the tree, with only the declared dependencies."""
    group = test_group(package)
    needed = closure([package])
    session.install(*map(wheel, needed))
    foreign = [import_name(name) for name in PACKAGES if name not in needed]
    source = ROOT / "packages" / package
    session.chdir(session.create_tmp())
    # This check runs before the test kit is installed.
    session.run("python", f"{ROOT}/tools/check_isolation.py", import_name(package), *foreign)
    session.run("python", f"{ROOT}/tools/execute_readme.py", f"{source}/README.md")
    session.install(*map(wheel, closure(members(group))), *external(group))
    run_pytest(session, "-p", "no:cacheprovider", f"{source}/tests")


def minimums(session: nox.Session, package: str) -> None:
    """Runs the tests with the lowest versions that the package declares."""
    if session.venv_backend != "uv":
        session.skip("needs uv: no other installer resolves to the lowest versions")
    group = test_group(package)
    needed = closure([package, *members(group)])
    session.install("--resolution=lowest-direct", *map(wheel, needed), *external(group))
    session.chdir(session.create_tmp())
    run_pytest(session, "-p", "no:cacheprovider", f"{ROOT}/packages/{package}/tests")


def generate(body: Callable[[nox.Session, str], None], **options: object) -> list[str]:
    """Defines one session ``<body>-<package>`` for each package and returns their names."""
    names = []
    for package in PACKAGES:
        short = package.removeprefix("olympus-")

        def run(session: nox.Session, package: str = package) -> None:
            body(session, package)

        run.__doc__ = f"{package}. {body.__doc__}"
        names.append(f"{body.__name__}-{short}")
        nox.session(run, name=names[-1], **options)  # type: ignore[call-overload]
    return names


generate(tests, reuse_venv=True)
isolated_sessions = generate(isolated, requires=["wheels"])
generate(minimums, requires=["wheels"])


# A PJRT plugin for CPUs, which a C++ program loads: XLA as a shared library, without Python code.
PJRT_PLUGIN = "fastatomstruct-xla-cpu==2026.6.23"


@nox.session(reuse_venv=True)
def integration(session: nox.Session) -> None:
    """Runs the tests of the packages together (integration_tests/)."""
    install_workspace(session, *test_requirements())
    try:
        session.install("--no-deps", PJRT_PLUGIN)
    except CommandFailed:
        session.log("no PJRT plugin for this platform: tests of the C++ program are skipped")
    run_pytest(session, "integration_tests")


@nox.session(reuse_venv=True)
def thorough(session: nox.Session) -> None:
    """Runs the tests that the other sessions leave out: those marked ``thorough``."""
    install_workspace(session, *test_requirements())
    tests = (*ROOT.glob("packages/*/tests/**/test_*.py"), *ROOT.glob("integration_tests/test_*.py"))
    marked = [path for path in tests if "mark.thorough" in path.read_text(encoding="utf-8")]
    for folder in sorted({path.parent for path in marked}):  # files of one name cannot run together
        files = (str(path) for path in sorted(marked) if path.parent == folder)
        run_pytest(session, "--thorough=only", *files)


# Requirements of programs of the JAX ecosystem: the libraries that they import, without JAX.
ECOSYSTEM = (
    *("optax==0.2.8", "equinox==0.13.8", "chex==0.1.92", "jaxtyping==0.3.11"),
    *("lineax==0.1.1", "optimistix==0.1.0", "diffrax==0.7.2"),
    *("numpyro==0.22.0", "blackjax==1.7.1"),
    *("flax==0.12.8", "dm-haiku==0.0.17", "orbax-checkpoint==0.12.8"),
    "keras==3.15.1",
)
ECOSYSTEM_REQUIREMENTS = (
    *("absl-py", "toolz", "typing-extensions", "wadler-lindig>=0.1"),
    *("multipledispatch", "tqdm"),
    *("jmp", "tabulate", "msgpack", "rich", "pyyaml", "treescope", "tensorstore"),
    *("etils[epath,epy]", "prometheus-client", "aiofiles", "protobuf", "humanize", "simplejson"),
    *("psutil", "uvloop; platform_system != 'Windows'"),
    *("h5py", "namex", "optree", "packaging"),
)


LIBRARIES = str(ROOT / "docs" / "libraries.md")  # a page that needs them


@nox.session(reuse_venv=True)
def ecosystem(session: nox.Session) -> None:
    """Runs libraries written for JAX on OLYMPUS; skipped without a package index."""
    install_workspace(session, *test_requirements())
    try:
        session.install("--no-deps", *ECOSYSTEM)
        session.install(*ECOSYSTEM_REQUIREMENTS)
    except CommandFailed:
        try:
            session.install("--no-deps", "--upgrade", "--force-reinstall", "iniconfig")
        except CommandFailed:
            session.skip("the package index cannot be reached")
        raise
    run_pytest(session, "integration_tests/test_ecosystem.py", "integration_tests/test_compat.py")
    session.run("python", "tools/execute_readme.py", LIBRARIES)


# Requirements of the suites of more libraries. JAX is not installed with them.
SUITES = (
    *("blackjax==1.7.1", "brax==0.14.2", "chex==0.1.92", "distrax==0.1.9", "dm-haiku==0.0.17"),
    *("dm-pix==0.4.5", "dynamax==1.0.3", "e3nn-jax==0.21.0", "einops==0.8.2", "equinox==0.13.8"),
    *("flax==0.12.8", "flowjax==19.1.2", "gpjax==1.0.0", "interpax==0.3.16", "jax-md==0.2.29"),
    *("jaxopt==0.8.5", "jaxtyping==0.3.11", "jraph==0.0.6.dev0", "lineax==0.1.1", "mctx==0.0.71"),
    *("numpyro==0.22.0", "optax==0.2.8", "optimistix==0.1.0", "orbax-checkpoint==0.12.8"),
    *("penzai==0.2.5", "rlax==0.1.9", "diffrax==0.7.2", "jmp==0.0.4"),
    *("mujoco-mjx==3.17.0", "paramax==0.0.5", "jaxkd==0.1.2", "tfp-nightly==0.26.0.dev20261027"),
    *("tinygp==0.3.1", "coordax==0.2.8", "jax_datetime==0.1.2", "tree_math==0.2.1"),
    *("jax_dataclasses==1.6.3", "pytreeclass==0.11.1", "quax==0.4.6", "traceax==1.0.2"),
    *("rax==0.4.0", "bayex==0.3.0", "kfac-jax==0.0.8", "quaxed==0.10.7", "orthax==0.2.11"),
    *("flashbax==0.1.3", "gymnax==1.0.1", "nifty8==8.5.7", "s2fft==1.5.0", "folx==0.2.30"),
    "scoringrules==0.10.0",
)
SUITES_REQUIREMENTS = (
    *("array-api-compat==1.16.0", "array-api-extra==0.11.5", "array-api-strict==2.6.1"),
    *("scipy==1.17.1", "numpy==2.4.6", "jaxlib==0.10.2", "ml-dtypes==0.6.0", "opt-einsum"),
    *("pytest", "pytest-timeout", "pytest-rerunfailures", "parameterized", "hypothesis"),
    *("plum-dispatch",),
    *("ase", "beartype", "cloudpickle", "cola-ml", "decorator", "dill", "dm-env", "dm-tree"),
    *("fastprogress", "frozendict", "funsor", "gast", "gym", "jinja2", "ml-collections"),
    *("gymnasium", "immutabledict", "matplotlib", "numpy-typing-compat==20251206.2.4"),
    *("optype", "seaborn", "sybil"),
    *("mktestdocs", "mock", "mujoco", "netcdf4", "networkx", "ordered-set", "pandas", "pillow"),
    *("pip", "scikit-learn", "six", "sympy", "tensorboardX", "trimesh", "typeguard<3", "xarray"),
)


@nox.session(name="library-suites", reuse_venv=True)
def library_suites(session: nox.Session) -> None:
    """Runs test suites of libraries on OLYMPUS, and failing tests on JAX: ``-- flax optax``.

    ``-- --shard 2/8 numpyro`` runs every eighth test, from the second.
    """
    install_workspace(session)
    peer = Path(session.create_tmp()) / "peer"
    session.run("python", "-m", "venv", "--clear", str(peer), silent=True)
    peer_python = str(next(p for p in peer.glob("*/python*") if p.stem == "python"))
    requirements = (*ECOSYSTEM_REQUIREMENTS, *SUITES_REQUIREMENTS)
    session.install("--no-deps", *SUITES)
    session.install(*requirements)
    in_peer = (peer_python, "-m", "pip", "install", "-q")
    session.run(*in_peer, "--no-deps", *SUITES, "jax==0.10.2", external=True)
    session.run(*in_peer, *requirements, external=True)
    folder = str(Path(session.create_tmp()) / "suites")
    suites = ("tools/library_suites.py", "--peer", peer_python, "--folder", folder)
    session.run("python", *suites, *session.posargs)


# Settings of the library, as environment variables, under which the samples of all packages run.
SETTINGS = {
    "promotion": {
        "OLYMPUS_NUMPY_RANK_PROMOTION": "raise",
        "OLYMPUS_NUMPY_DTYPE_PROMOTION": "strict",
    },
    "checks": {"OLYMPUS_ENABLE_CHECKS": "1", "OLYMPUS_CHECK_STATIC_INDICES": "1"},
    "keys": {"OLYMPUS_LEGACY_PRNG_KEY": "error"},
    "x64": {"OLYMPUS_ENABLE_X64": "1"},
    "precision": {"OLYMPUS_DEFAULT_MATMUL_PRECISION": "highest"},
}


@nox.session(reuse_venv=True)
@nox.parametrize("setting", list(SETTINGS))
def settings(session: nox.Session, setting: str) -> None:
    """Runs the samples of all packages under strict settings."""
    install_workspace(session, *test_requirements())
    samples = sorted(map(str, ROOT.glob("packages/*/tests/**/test_*samples.py")))
    for path in samples:  # pytest cannot collect files of one name together
        run_pytest(session, path, env=SETTINGS[setting])


@nox.session
def sweep(session: nox.Session) -> None:
    """Compares calls of all public functions with JAX under settings; ``-- --settings rank``."""
    install_workspace(session)
    peer_python = install_peer(session)
    session.run("python", "tools/differential/sweep.py", "--jax", peer_python, *session.posargs)


@nox.session
def options(session: nox.Session) -> None:
    """Compares every option of public functions with JAX; ``-- --sections image`` takes a part."""
    install_workspace(session)
    peer_python = install_peer(session)
    written = str(ROOT / "build" / "options")
    session.run("python", "tools/differential/options.py", written)
    cases = ("--calls", written, "--settings", "default", "--modes", "trace", "--dtypes", "float32")
    script = ("tools/differential/sweep.py", "--jax", peer_python, *cases)
    session.run("python", *script, *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Runs random programs under random transformations, beside JAX: ``-- --seconds 600 --seed 7``.

    Findings are made smaller, and written as tests to ``build/test_findings.py``.
    """
    install_workspace(session)
    peer_python = install_peer(session)
    (ROOT / "build").mkdir(exist_ok=True)
    tests = ("--tests", str(ROOT / "build" / "test_findings.py"))
    script = "tools/differential/fuzz_programs.py"
    session.run("python", script, "--jax", peer_python, *tests, *session.posargs)


@nox.session(name="fuzz-calls")
def fuzz_calls(session: nox.Session) -> None:
    """Makes malformed calls at random, beside JAX: ``-- --seconds 600 --seed 7``."""
    install_workspace(session)
    peer_python = install_peer(session)
    session.run(
        "python", "tools/differential/fuzz_calls.py", "--jax", peer_python, *session.posargs
    )


@nox.session(reuse_venv=True)
def damage(session: nox.Session) -> None:
    """Reads damaged files of every kind: ``-- --files 10000 --seed 0``."""
    install_workspace(session, *test_requirements())
    session.run("python", "tools/damage.py", *session.posargs)


@nox.session
def mistakes(session: nox.Session) -> None:
    """Compares the errors of common mistakes with JAX's; ``-- --write`` writes docs/mistakes.md."""
    install_workspace(session)
    peer_python = install_peer(session)
    mistakes = ("tools/differential/mistakes.py", "--jax", peer_python)
    session.run("python", *mistakes, *session.posargs)


@nox.session(reuse_venv=True)
def primitives(session: nox.Session) -> None:
    """Writes docs/primitives.md, the table of primitives and rules; ``-- --check`` compares."""
    install_workspace(session)
    session.run("python", "tools/primitives_table.py", *session.posargs)


@nox.session(reuse_venv=True)
def flags(session: nox.Session) -> None:
    """Writes docs/flags.md, the table of configuration flags; ``-- --check`` compares."""
    install_workspace(session)
    session.run("python", "tools/flags_page.py", *session.posargs)


@nox.session(name="hard-points", reuse_venv=True)
def hard_points(session: nox.Session) -> None:
    """Writes docs/hard-points.md, the derivatives at hard points; ``-- --check`` compares."""
    install_workspace(session)
    session.run("python", "tools/hard_points.py", *session.posargs)


@nox.session(name="deferred-imports", reuse_venv=True)
def deferred_imports(session: nox.Session) -> None:
    """Writes docs/deferred-imports.md, the savings of late imports; ``-- --check`` compares."""
    install_workspace(session)
    session.run("python", "tools/deferred_imports.py", *session.posargs)


@nox.session(reuse_venv=True)
def docs(session: nox.Session) -> None:
    """Executes the documents, the READMEs and the examples in docstrings."""
    notebooks = ("nbclient>=0.10", "ipykernel>=6.29", "nbformat>=5.10")
    install_workspace(session, *test_requirements(), *notebooks, extras="[examples]")
    documents = session.posargs or sorted({*map(str, ROOT.glob("docs/**/*.md"))} - {LIBRARIES})
    session.run("python", "tools/execute_docs.py", *documents, env={"MPLBACKEND": "agg"})
    if session.posargs:
        return
    session.run("python", "tools/execute_readme.py", "README.md")
    modules = [import_name(package) for package in PACKAGES]
    ignored = [
        # This folder stands in for JAX in child processes; it is no part of the package.
        "--ignore-glob=*/compat/subprocesses/*",
        # Rules of a primitive of olympus-random, which looks the file up when it is there.
        "--ignore-glob=*/olympus_ir/reference/random.py",
    ]
    # `olympus` sets itself as the module of functions of other packages, and doctest finds the
    # examples of a module by this name. So the other packages run first, alone.
    for group in ([name for name in modules if name != "olympus"], ["olympus"]):
        run_pytest(session, "--doctest-modules", *ignored, "--pyargs", *group)


@nox.session(reuse_venv=True)
def site(session: nox.Session) -> None:
    """Builds the documentation site below docs/_build/html; ``-- linkcheck`` checks its links."""
    sphinx = ("sphinx>=9.0", "myst-nb>=1.3", "sphinx-design>=0.6", "sphinx-copybutton>=0.5")
    theme = ("pydata-sphinx-theme>=0.16", "ipykernel>=6.29", "selenium>=4.30")
    install_workspace(session, *test_requirements(), *sphinx, *theme, extras="[examples]")
    env = {"MPLBACKEND": "agg"}
    if session.posargs == ["linkcheck"]:
        session.run("sphinx-build", "-b", "linkcheck", "docs", "docs/_build/links", env=env)
        return
    session.run("sphinx-build", "-W", "--keep-going", "-q", "docs", "docs/_build/html", env=env)
    session.run("python", "tools/check_site.py", "docs/_build/html")


@nox.session(reuse_venv=True)
def accelerators(session: nox.Session) -> None:
    """Tests the accelerator of this machine; ``-- cuda13`` names the plugin, cuda13 by default."""
    extra = session.posargs[0] if session.posargs else "cuda13"
    install_workspace(session, *test_requirements(), extras=f"[{extra}]")
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-n", "auto")
    folder = "integration_tests/accelerators"
    environment = {"OLYMPUS_TEST_ACCELERATORS": "1"}
    session.run("python", "-m", "pytest", *settings, folder, env=environment)


@nox.session(reuse_venv=True)
def example(session: nox.Session) -> None:
    """Trains the network of examples/quickstart.py."""
    install_workspace(session, extras="[examples]")
    plot = Path(session.create_tmp()) / "quickstart_loss.png"
    session.run("python", "examples/quickstart.py", "--output", str(plot))


@nox.session(reuse_venv=True)
def gallery(session: nox.Session) -> None:
    """Runs the examples of the gallery and draws their pictures: ``-- fluid`` runs one of them."""
    install_workspace(session, extras="[examples]")
    pictures = ROOT / "docs" / "gallery"
    for script in sorted((ROOT / "examples" / "gallery").glob("*.py")):
        if script.stem != "pictures" and script.stem in (session.posargs or [script.stem]):
            session.run("python", str(script), str(pictures))


@nox.session(python=NEWER_PYTHONS)
def newer(session: nox.Session) -> None:
    """Runs all tests on a newer Python, which brings a newer jaxlib; skipped where absent."""
    # Packages are installed one by one, so that each is tested without the packages above it.
    for package in PACKAGES:
        group = test_group(package)
        session.install(*editable(closure([package, *members(group)])), *external(group))
        run_pytest(session, f"packages/{package}/tests")
    run_pytest(session, "integration_tests")


@nox.session(name="all-floats", reuse_venv=True)
def all_floats(session: nox.Session) -> None:
    """Checks the errors of vectorized functions over all numbers of single precision: minutes."""
    install_workspace(session, *test_requirements())
    for name in ("trigonometry", "hyperbolic"):
        session.run("python", f"packages/olympus-xla/tests/test_cpu_{name}.py")


def measure_beside_jax(session: nox.Session, *arguments: str) -> None:
    """Runs the benchmarks with JAX in an environment of its own, on the same jaxlib.

    Both come as wheels: each folder of an editable install would be searched at each import.
    """
    session.install(*map(wheel, PACKAGES), "jaxlib==0.10.2")
    session.run("python", "-m", "benchmarks", "--peer", install_peer(session), *arguments)


@nox.session(reuse_venv=True)
def differential(session: nox.Session) -> None:
    """Compares values with JAX in an environment of its own; ``-- --shard 3/60`` runs a part."""
    install_workspace(session)
    peer = Path(session.create_tmp()) / "jax"
    if not peer.exists():
        session.run("python", "-m", "venv", str(peer), silent=True)
        peer_python = next(p for p in peer.glob("*/python*") if p.stem == "python")
        needed = ("jax==0.10.2", "jaxlib==0.10.2", "ml_dtypes")
        session.run(str(peer_python), "-m", "pip", "install", "-q", *needed, external=True)
    peer_python = next(p for p in peer.glob("*/python*") if p.stem == "python")
    given = session.posargs or ("--shard", "1/60")
    kept = Path(session.create_tmp()) / "outcomes"  # those of JAX are computed once
    kept.mkdir(exist_ok=True)
    environment = {"JAX_PLATFORMS": "cpu", "OLYMPUS_PLATFORMS": "cpu"}
    script = ("tools/differential/values.py", "--jax", str(peer_python))
    session.run("python", *script, "--keep", str(kept), "--reuse", *given, env=environment)


@nox.session(requires=["wheels"])
def benchmarks(session: nox.Session) -> None:
    """Measures OLYMPUS beside JAX on the same jaxlib, in rounds that take turns."""
    measure_beside_jax(session, *session.posargs)


@nox.session(name="benchmarks-short", requires=["wheels"])
def benchmarks_short(session: nox.Session) -> None:
    """Runs one quick round of the benchmarks: fails if a result is not JAX's, never on time."""
    measure_beside_jax(session, "--short", *session.posargs)


@nox.session(requires=["wheels"])
def peers(session: nox.Session) -> None:
    """Measures operations and whole programs beside the peers, for docs/benchmarks.md."""
    session.install(*map(wheel, PACKAGES))
    folder = Path(session.create_tmp())
    pythons = []
    requirements = {
        "torch": ("torch==2.13.0", "numpy"),
        "jax": ("jax==0.10.2", "scipy"),
        "numba": ("numba==0.68.1", "scipy"),
    }
    for library, needed in requirements.items():
        session.run("python", "-m", "venv", "--clear", str(folder / library), silent=True)
        python = next(p for p in (folder / library).glob("*/python*") if p.stem == "python")
        session.run(str(python), "-m", "pip", "install", "-q", *needed, external=True)
        pythons.append(f"{library}={python}")
    output = () if "--output" in session.posargs else ("--output", "docs/benchmarks.md")
    operations = [each for each in pythons if not each.startswith("numba=")]
    session.run("python", "-m", "benchmarks.peers", *operations, *output, *session.posargs)
    compiled = [f"compiled_{each}" for each in pythons if each.startswith("torch=")]
    session.run(
        "python", "-m", "benchmarks.applications", *pythons, *compiled, *output, *session.posargs
    )


def build_distributions(session: nox.Session, package: str) -> list[Path]:
    """Builds the wheel and the source distribution of a package, the same bytes each time."""
    folder = DIST / "release"
    shutil.rmtree(folder, ignore_errors=True)
    committed = session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)
    session.install("hatchling>=1.27", "twine>=6.1", "check-wheel-contents>=0.6")
    with session.chdir(ROOT / "packages" / package):
        command = ("hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder))
        session.run(*command, env={"SOURCE_DATE_EPOCH": str(committed).strip()}, silent=True)
    found = sorted(folder.iterdir())
    session.run("twine", "check", "--strict", *map(str, found))
    wheels = [str(path) for path in found if path.suffix == ".whl"]
    session.run("check-wheel-contents", "--toplevel", import_name(package), *wheels)
    return found


@nox.session(requires=["wheels"])
def build(session: nox.Session) -> None:
    """Builds and checks the distributions of a package; ``-- olympus-random``."""
    if len(session.posargs) != 1 or session.posargs[0] not in PROJECTS:
        session.error(f"give one package: {', '.join(PACKAGES)}")
    (package,) = session.posargs
    group = test_group(package)
    for path in build_distributions(session, package):
        needed = [wheel(name) for name in closure([package]) if name != package]
        session.install("--force-reinstall", "--no-deps", str(path))
        session.install(*needed, *map(wheel, closure(members(group))), *external(group), str(path))
        with session.chdir(session.create_tmp()):
            run_pytest(session, "-p", "no:cacheprovider", f"{ROOT}/packages/{package}/tests")


@nox.session
def release(session: nox.Session) -> None:
    """Prepares a release: ``-- olympus-random minor``. Tags, builds and tests; uploads nothing."""
    if len(session.posargs) != 2:
        session.error("give a package and the part of its version: olympus-random minor")
    sys.path.insert(0, str(ROOT / "tools"))
    from release import prepare

    package, part = session.posargs
    try:
        tag = prepare(package, part)
    except ValueError as error:
        session.error(str(error))
    session.log(f"committed and tagged {tag}; now building it")
    session.notify("build", posargs=[package])


@nox.session(name="release-rehearsal", requires=["wheels"])
def release_rehearsal(session: nox.Session) -> None:
    """Releases olympus-random alone in a copy, to a local index, and installs every combination."""
    session.install("pypiserver>=2.3", "hatchling>=1.27", "packaging", "uv")
    session.run("python", "tools/rehearse_release.py", str(DIST), session.create_tmp())


@nox.session
def pairs(session: nox.Session) -> None:
    """Tests packages with the lowest and newest siblings: ``-- --since HEAD~9 olympus-random``."""
    session.install("hatchling>=1.27", "packaging", "uv")
    session.run("python", "tools/pairs.py", session.create_tmp(), *session.posargs)


nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"
nox.options.sessions = [
    "lint",
    "imports",
    "types",
    "wheels",
    *isolated_sessions,
    "integration",
    "ecosystem",
    "docs",
    "example",
    "benchmarks-short",
    *(f"newer-{python}" for python in NEWER_PYTHONS),
]
