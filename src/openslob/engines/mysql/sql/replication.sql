-- Where a server is in the binary log.

-- name: copy
-- Result: one row of a server that follows another, with the files and offsets of that one's log; none of others.
SHOW REPLICA STATUS

-- name: logs
-- Result: Log_name, File_size of each file of the server's own log; the last is the one being written.
SHOW BINARY LOGS
