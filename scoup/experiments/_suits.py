"""Reasons that several experiments share for not suiting some data."""

from scoup.datasets import Traits

SUBJECT = "subject"


def why_no_images(traits: Traits) -> str:
    """Say why the data is not dense images of things with one matrix about them, or nothing."""
    need = "it tells dense images of things apart"
    if traits.sparse:
        return f"{need}, and the tensor is sparse"
    if traits.missing:
        return f"{need}, and some cells are missing"
    if len(traits.matrices) != 1:
        return "it needs one matrix, on the mode of the things"
    return ""
