-- The results of a template as they were last made, shown while newer ones are made. `revision` is the template's: results of an
-- earlier one are not shown. Any row can be deleted; the next view makes it again.
CREATE TABLE IF NOT EXISTS kept_results (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  revision bigint NOT NULL,
  -- The release that made them, because their shape may change with it.
  release text NOT NULL,
  made_at timestamptz NOT NULL,
  -- Members `found` (results) and `over` (series), as the API shows them.
  answer json NOT NULL,
  PRIMARY KEY (org_slug, template_id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
