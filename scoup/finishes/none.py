"""Keep the merged rows; rows that were never sampled stay zero."""

LABEL = "merged as sampled"
