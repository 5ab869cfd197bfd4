extension JobsSchemaVersion {
  /// Histograms of how long jobs waited and ran.
  static let version3 = JobsSchemaVersion(
    number: 3, name: "histograms",
    sql: """
      -- The count of each bucket of a `DurationHistogram`, shortest durations first; empty in rows of the last
      -- version's programs.
      ALTER TABLE job_minutes
        ADD COLUMN run_histogram bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN wait_histogram bigint[] NOT NULL DEFAULT '{}';
      ALTER TABLE job_hours
        ADD COLUMN run_histogram bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN wait_histogram bigint[] NOT NULL DEFAULT '{}';

      CREATE FUNCTION histogram_add(one bigint[], other bigint[]) RETURNS bigint[]
      LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      AS $add$
        SELECT ARRAY(
          SELECT coalesce(a, 0) + coalesce(b, 0)
          FROM unnest(one, other) WITH ORDINALITY AS buckets (a, b, place) ORDER BY place)
      $add$;

      CREATE AGGREGATE histogram_sum(bigint[]) (
        SFUNC = histogram_add, STYPE = bigint[], COMBINEFUNC = histogram_add, INITCOND = '{}', PARALLEL = SAFE
      );
      """,
    undo: """
      DROP AGGREGATE histogram_sum(bigint[]);
      DROP FUNCTION histogram_add(bigint[], bigint[]);
      ALTER TABLE job_minutes DROP COLUMN run_histogram, DROP COLUMN wait_histogram;
      ALTER TABLE job_hours DROP COLUMN run_histogram, DROP COLUMN wait_histogram;
      """)
}
