-- Purpose:  the server's own calibration of its storage, which slob starts and whose answer it repeats.
-- Versions: Oracle Database 11.1 to 26ai.
-- Notes:    By its manual (docs.oracle.com/cd/E11882_01/appdev.112/e40758/d_resmgr.htm, CALIBRATE_IO Procedure) it is for
--           SYSDBA; timed_statistics must be on and all data files need asynchronous I/O; only one can run at a time; it
--           reads blocks at random, then 1 MB at random, of all data files, and says IOPS, MB/s and the mean latency of the
--           blocks in ms. Its result is kept in DBA_RSRC_IO_CALIBRATE. Not tried on a real server.

-- name: calibrate
-- Parameters: disks, how many there are about; most_ms, the latency of blocks that is allowed. Result: the other binds.
BEGIN
    SYS.DBMS_RESOURCE_MANAGER.CALIBRATE_IO(:disks, :most_ms, :max_iops, :max_mb_per_s, :latency_ms);
END;
