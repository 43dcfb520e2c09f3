"""The records that pass between stages. Each checks itself when it is made and never changes."""

from scoup.records.evidence import (
    VERDICTS,
    Claim,
    Context,
    Measure,
    Metric,
    controls_text,
    pick,
)
from scoup.records.factors import Array, Factors, as_lists, by_mode
from scoup.records.fits import Clock, Fit, FitReport, Merged, MergeReport, Sample
from scoup.records.origin import Labels, Provenance, SourceFile, as_labels

__all__ = [
    "VERDICTS", "Array", "Claim", "Clock", "Context", "Factors", "Fit", "FitReport", "Labels",
    "Measure", "MergeReport", "Merged", "Metric", "Provenance", "Sample", "SourceFile", "as_labels",
    "as_lists", "by_mode", "controls_text", "pick",
]  # fmt: skip
