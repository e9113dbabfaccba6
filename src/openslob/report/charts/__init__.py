"""Pictures as Vega-Lite specifications, drawn in HTML pages and as SVG or PNG files from the same definition."""
