"""The record of a run: model, store, what was measured."""
