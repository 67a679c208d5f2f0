-- A sticky repeat is no new decision: the tracking id it was asked under stands for the decision it repeated.
CREATE TABLE IF NOT EXISTS tracking_aliases (
  org_slug text NOT NULL,
  alias text NOT NULL,
  template_id text NOT NULL,
  tracking_id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, alias, template_id)
);
