"""The records that pass between stages. Each checks itself when it is made and never changes."""

from scoup.records.factors import Array, Factors, as_lists, by_mode
from scoup.records.fits import Clock, Fit, FitReport, Merged, MergeReport, Sample
from scoup.records.origin import ROLES, Labels, Provenance, SourceFile, as_labels, role_of
from scoup.records.rounds import Products, Request, Round

__all__ = [
    "ROLES", "Array", "Clock", "Factors", "Fit", "FitReport", "Labels", "MergeReport", "Merged",
    "Products", "Provenance", "Request", "Round", "Sample", "SourceFile", "as_labels", "as_lists",
    "by_mode", "role_of",
]  # fmt: skip
