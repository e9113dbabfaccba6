"""The kinds of measurements: `contract` says what one is, each folder is one, and the other files know any of them."""
