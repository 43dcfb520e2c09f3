"""The data as it is."""

from scoup.coupled import CoupledData


def apply(data: CoupledData) -> CoupledData:
    """Return the data itself."""
    return data
