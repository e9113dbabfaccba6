-- Roles of managed servers in replication, by a superuser.

-- name: promote
-- Returns at once; the server ends its recovery afterwards.
SELECT pg_promote(false)

-- name: forget
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %(slot)s AND NOT active

-- name: in_recovery
-- Result: whether the server is a standby still.
SELECT pg_is_in_recovery() AS standby

-- name: wait
-- A commit waits until one of the standbys, whichever, has it on its disk.
ALTER SYSTEM SET synchronous_standby_names = '*'

-- name: go_on
-- A commit waits for no standby.
ALTER SYSTEM RESET synchronous_standby_names

-- name: reload
SELECT pg_reload_conf()

-- name: waits
-- Result: whether commits wait for a standby that is there.
SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') AND
       current_setting('synchronous_standby_names') <> '' AS waits
