-- The audit's monthly partitions are made ahead, by every `mappy-mcp migrate up` and by the application's sweep: this month and the
-- next two. Months are those of UTC; where an earlier partition was made in another time zone, the next one begins at its end.
-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION mappy.make_audit_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, mappy SET timezone = 'UTC' SET lock_timeout = '2s' AS $$
DECLARE
  month  timestamptz;
  finish timestamptz;
  start  timestamptz;
  part   text;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mappy.audit.partitions', 0));
  FOR n IN 0..2 LOOP
    month := date_trunc('month', now()) + n * interval '1 month';
    finish := month + interval '1 month';
    part := 'audit_event_' || to_char(month, 'YYYYMM');
    CONTINUE WHEN to_regclass('mappy.' || part) IS NOT NULL;
    SELECT coalesce(max(upper), month) INTO start FROM (
      SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz AS upper
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'mappy.audit_event'::regclass) AS earlier
    WHERE upper > month - interval '1 day' AND upper < finish;
    -- Events that came before their partition stay in the default one, whose rows cannot be moved: the audit is append-only.
    CONTINUE WHEN EXISTS (SELECT 1 FROM mappy.audit_event_default WHERE occurred_at >= start AND occurred_at < finish);
    BEGIN
      EXECUTE format('CREATE TABLE mappy.%I PARTITION OF mappy.audit_event FOR VALUES FROM (%L) TO (%L)', part, start, finish);
      EXECUTE format('CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON mappy.%I FOR EACH STATEMENT EXECUTE FUNCTION mappy.refuse_change()', part);
      EXECUTE format('ALTER TABLE mappy.%I ENABLE ROW LEVEL SECURITY', part);
      made := made + 1;
    EXCEPTION WHEN check_violation THEN
      NULL; -- one came in just now
    END;
  END LOOP;
  RETURN made;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION mappy.make_audit_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mappy.make_audit_partitions() TO mappy_app;

-- +goose Down
DROP FUNCTION mappy.make_audit_partitions();
