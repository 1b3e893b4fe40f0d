-- Who may do what in a database with vaults. These two roles cannot log in: grant them to those that can, as in
-- `GRANT septet_writer TO alice`. Roles belong to the whole server; the owner is whoever made the tables.
--
--   septet_reader   searches and reads: open the vault with read_only=True
--   septet_writer   writes too, and makes vaults
--   owner           also changes the schema, and makes indexes of vectors
--
-- `septet postgres init` runs this; running it again changes nothing.

DO $$
DECLARE wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['septet_reader', 'septet_writer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                -- Another database of this server was just as fast.
                NULL;
            END;
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA septet TO septet_reader, septet_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA septet TO septet_reader, septet_writer;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA septet TO septet_reader;
GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA septet TO septet_writer;
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA septet TO septet_writer;
REVOKE INSERT, UPDATE, DELETE ON septet.meta FROM septet_writer;

-- So that whoever loads a vault can have the planner look at it. Before PostgreSQL 17 only the owner may, and autovacuum
-- waits until a tenth of a table is new: a small vault among large ones would be searched by bad plans.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON ALL TABLES IN SCHEMA septet TO septet_writer';
        EXECUTE 'ALTER DEFAULT PRIVILEGES IN SCHEMA septet GRANT MAINTAIN ON TABLES TO septet_writer';
    END IF;
END $$;

-- For what later versions of the schema bring.
ALTER DEFAULT PRIVILEGES IN SCHEMA septet GRANT SELECT ON TABLES TO septet_reader, septet_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA septet GRANT SELECT ON SEQUENCES TO septet_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA septet GRANT SELECT, USAGE ON SEQUENCES TO septet_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA septet GRANT INSERT, UPDATE, DELETE ON TABLES TO septet_writer;
