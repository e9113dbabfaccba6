"""Results for other programs: tables, workbooks, metrics and histograms."""
