"""Writes AWR reports, as text and as HTML, from a description of a database's figures.

`described.database` makes a description, `report.write` the report of one, with what must be read from it.
"""
