"""The same numbers on a real cluster, with a worker killed in the middle: `pytest -m cluster`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.extras import extra
from headgate.policies import Uniform
from headgate.simulation import simulate

from .references import same
from .test_spread import mortal

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("default"),  # Dask, Ray and what they import warn about themselves
]


def lineup(folder: Path, deaths: int) -> dict[str, Any]:
    return {"mortal": mortal(folder / "dead", deaths), "even": Uniform}


@pytest.fixture
def dask_address() -> Iterator[str]:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with extra("distributed").LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def ray_address() -> Iterator[str]:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    ray = extra("ray")
    context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield context.address_info["gcs_address"]
    ray.shutdown()


@pytest.mark.parametrize("backend", ["dask", "ray"])
@pytest.mark.parametrize("deaths", [0, 1])
def test_a_cluster_gives_the_same_numbers(
    three: hg.Problem, tmp_path: Path, request: pytest.FixtureRequest, backend: str, deaths: int
) -> None:
    address = request.getfixturevalue(f"{backend}_address")
    fallen, kept = tmp_path / "fallen", tmp_path / "kept"
    fallen.mkdir()
    policies = lineup(fallen, deaths)
    alone = simulate(three, policies, budget=6.0, rounds=40, runs=4, chunk=1)
    spread_out = simulate(
        three, policies, budget=6.0, rounds=40, runs=4, chunk=1, backend=backend, address=address, workers=2, out=kept
    )
    assert len(list(fallen.iterdir())) == deaths
    assert same(alone, spread_out)
    assert len(list((kept / "units").glob("*.npz"))) == 8


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_is_started_here_without_an_address(three: hg.Problem, backend: str) -> None:
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    alone = simulate(three, {"even": Uniform}, budget=6.0, rounds=40, runs=2, chunk=1)
    here = simulate(three, {"even": Uniform}, budget=6.0, rounds=40, runs=2, chunk=1, backend=backend, workers=2)
    assert same(alone, here)
