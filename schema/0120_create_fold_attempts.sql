-- Attempts to fold the ledger of a template, counted before each and back to 0 once one succeeds. After three that failed,
-- or that the service did not live to finish, folding stops (`stopped_at`) until the counts are rebuilt or the template's
-- objective changes. `reason` is that of the latest failure.
CREATE TABLE IF NOT EXISTS fold_attempts (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  attempts integer NOT NULL,
  attempted_at timestamptz NOT NULL,
  reason text,
  stopped_at timestamptz,
  PRIMARY KEY (org_slug, template_id)
);
