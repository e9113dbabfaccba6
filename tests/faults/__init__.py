"""The fault suite: one row a fault, each with what slob must do (docs/reliability.md is made from the rows)."""
