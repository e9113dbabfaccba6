# The database of this checkout: what a pull request can change. openslob.yml reads this file of base and of head, with
# `side` as the checkout's folder.
# Options of slob server start; of a server that this repository builds also --bin-dir "$PWD/$side/build/bin".
START=(--cache 64M)
# Settings of the server's own, each --set NAME=VALUE.
SETTINGS=(--set synchronous_commit=on)
