"""Reports as single HTML files that contain their scripts, styles, pictures and data."""
