"""Several instances of one database as one engine, whatever the product."""
