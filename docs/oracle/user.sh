#!/bin/bash
# Makes the user slob and its tablespace in a container of Oracle's, unless they are there. The database names no files
# itself (OMF), so the tablespace's file is named, beside those that are there. What docs/oracle.md grants view by view is
# one role here.
sqlplus -S / as sysdba <<SQL
ALTER SESSION SET CONTAINER = FREEPDB1;
DECLARE
    there PLS_INTEGER;
    folder VARCHAR2(500);
BEGIN
    SELECT COUNT(*) INTO there FROM dba_users WHERE username = 'SLOB';
    IF there > 0 THEN
        RETURN;
    END IF;
    SELECT MAX(SUBSTR(file_name, 1, INSTR(file_name, '/', -1))) INTO folder
      FROM dba_data_files WHERE tablespace_name = 'SYSTEM';
    EXECUTE IMMEDIATE 'CREATE BIGFILE TABLESPACE slobdata DATAFILE ''' || folder
        || 'slobdata01.dbf'' SIZE 3G REUSE AUTOEXTEND ON MAXSIZE 8G';
    EXECUTE IMMEDIATE 'CREATE USER slob IDENTIFIED BY "$ORACLE_PWD"'
        || ' DEFAULT TABLESPACE slobdata QUOTA UNLIMITED ON slobdata';
    EXECUTE IMMEDIATE 'GRANT CREATE SESSION, CREATE TABLE, CREATE PROCEDURE, ALTER SYSTEM, SELECT_CATALOG_ROLE TO slob';
END;
/
SQL
