"""The table of remote files is complete and safe to fetch from."""

import re

import pytest

from scoup import datasets
from scoup.download import _STRUCTURE
from scoup.errors import ScoupError


@pytest.mark.parametrize("source", datasets.DATASETS.values(), ids=lambda source: source.name)
def test_each_data_set_is_complete(source):
    assert source.origin
    assert source.licence
    assert source.citation
    assert len(set(source.file_names)) == len(source.files)
    for file in source.files:
        assert re.fullmatch(r"[0-9a-f]{64}|", file.sha256)
        assert file.sha256 or file.structure in _STRUCTURE
        assert all(address.startswith(("https://", "http://")) for address in file.addresses)
        assert not file.addresses or file.addresses[0].startswith("https://")
        assert all(address.endswith(file.name) for address in file.addresses)


def test_brainq_is_nine_subjects_and_the_questions():
    assert len(datasets.get("brainq").files) == 10
    assert datasets.get("brainq").file_names[1] == "data-science-P1.mat"


def test_unknown_name():
    with pytest.raises(
        ScoupError, match=r"dataset: expected one of brainq, facebook, .*got 'netflix'"
    ):
        datasets.get("netflix")
