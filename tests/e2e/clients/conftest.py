"""The world of the matrix lives as long as the session; the table is written at its end."""

import pytest

import matrix


@pytest.fixture(scope="session")
def world(base, pki, build):
    made = matrix.World(base, pki, build)
    yield made
    made.close()


@pytest.fixture(scope="session", autouse=True)
def table():
    yield
    if matrix.ROWS:
        matrix.write_table()
