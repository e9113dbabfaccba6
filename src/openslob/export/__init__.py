"""Results for other programs: tidy tables, spreadsheets, metrics and histograms."""
