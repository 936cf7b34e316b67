"""Ranks as launchers put them into the environment."""

from __future__ import annotations

import pytest

from sonde.record.inside.ranks import told_by


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1, "torchrun")),
        (
            {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
            (2, 4, 0, "Open MPI"),
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2, -1, "MPI")),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "1"}, (5, 6, 1, "SLURM")),
        ({"RANK": "0", "WORLD_SIZE": "2", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, (0, 2, -1, "torchrun")),
        ({"RANK": "x", "WORLD_SIZE": "2"}, (-1, -1, -1, None)),
        ({"RANK": "9" * 40, "WORLD_SIZE": "2"}, (-1, -1, -1, None)),
        ({}, (-1, -1, -1, None)),
    ],
)
def test_the_first_launcher_with_rank_and_size_is_believed(
    variables: dict[str, str], expected: tuple[int, int, int, str | None]
) -> None:
    found = told_by(variables)
    assert (found["rank"], found["world_size"], found["local_rank"], found["launcher"]) == expected


def test_a_role_that_nobody_named_is_none() -> None:
    common = {"RANK": "0", "WORLD_SIZE": "1"}
    assert told_by({**common, "ROLE_NAME": "default"})["job_role"] is None
    assert told_by({**common, "ROLE_NAME": "trainer"})["job_role"] == "trainer"
