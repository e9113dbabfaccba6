"""Several instances of one database as one engine: any engine's instances, told apart by nothing but their targets."""
