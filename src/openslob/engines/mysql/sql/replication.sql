-- Replication by the binary log: where a server is in it, and the roles of managed servers, which an administrator sets.

-- name: copy
-- Result: one row of a server that follows another, with the files and offsets of that one's log; none of others.
SHOW REPLICA STATUS

-- name: logs
-- Result: Log_name, File_size of each file of the server's own log; the last is the one being written.
SHOW BINARY LOGS

-- name: role
-- Result: number of this server among those that replicate, whether it has a binary log; only MariaDB has domains, so
-- that other servers refuse the last column: the last transaction of each domain that is committed here.
SELECT @@server_id AS number, @@log_bin AS has_log, @@GLOBAL.gtid_current_pos AS position

-- name: cluster
-- Result: Variable_name, Value: the nodes of the cluster, as far as this one sees, and whether it takes writes.
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_ready')

-- name: not_logged
-- What this session changes from now on stays on this server.
SET SESSION sql_log_bin = OFF

-- name: let_in
-- A standby's account on its primary.
CREATE OR REPLACE USER %(user)s@'127.0.0.1' IDENTIFIED BY %(password)s

-- name: let_follow
GRANT REPLICATION SLAVE ON *.* TO %(user)s@'127.0.0.1'

-- name: let_out
DROP USER IF EXISTS %(user)s@'127.0.0.1'

-- name: forget_log
-- No server follows this one any more.
RESET MASTER

-- name: begin
-- A copy of the primary's files has the primary's log, too: it goes on where that ends.
SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos

-- name: follow
CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %(port)s, MASTER_USER = %(user)s,
    MASTER_PASSWORD = %(password)s, MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_SSL = 0

-- name: start
START REPLICA

-- name: receive_no_more
STOP REPLICA IO_THREAD

-- name: receive
START REPLICA IO_THREAD

-- name: applied
-- Waits until transactions are applied. Result: 0, or -1 if they are not within so many seconds.
SELECT MASTER_GTID_WAIT(%(position)s, %(seconds)s) AS missing

-- name: stop
STOP REPLICA

-- name: forget_primary
RESET REPLICA ALL

-- name: take_writes
SET GLOBAL read_only = OFF

-- name: wait_without_end
-- In milliseconds, of which the server takes so many. Otherwise commits would go on without a standby after 10 s.
SET GLOBAL rpl_semi_sync_master_timeout = 4294967295

-- name: wait
-- A commit waits until one of the standbys, whichever, has received it.
SET GLOBAL rpl_semi_sync_master_enabled = ON

-- name: go_on
-- A commit waits for no standby.
SET GLOBAL rpl_semi_sync_master_enabled = OFF

-- name: waits
-- Result: Variable_name, Value: how many standbys take part, and whether commits wait for them.
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_clients', 'Rpl_semi_sync_master_status')
