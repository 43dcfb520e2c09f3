"""What all tests share: repeatable examples, and one tiny run of the whole workflow."""

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder in which the whole tiny workflow has run; not to be changed."""
    from tests.workflow.conftest import snakemake, succeeded

    folder = tmp_path_factory.mktemp("finished") / "run"
    succeeded(snakemake(folder, cores=1))
    return folder
