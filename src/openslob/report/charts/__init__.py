"""The pictures: each has one definition, drawn as interactive HTML that needs no network, as SVG and as PNG."""
