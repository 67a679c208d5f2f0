-- Conditions that need somebody and hold now, such as a source that is silent. A row is stored in the transaction that tells webhook
-- endpoints, and deleted when the condition ends.
CREATE TABLE IF NOT EXISTS alerts (
  org_slug text NOT NULL REFERENCES organizations (slug),
  type text NOT NULL,
  -- What it is about: the name of a source, or a template and a variant as JSON.
  subject text NOT NULL,
  opened_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, type, subject)
);
-- Requests for a variant and those that could not be rendered, by hour. Only variants with failures have rows.
CREATE TABLE IF NOT EXISTS rendering_hours (
  org_slug text NOT NULL REFERENCES organizations (slug),
  template_id text NOT NULL,
  copy_id text NOT NULL,
  hour timestamptz NOT NULL,
  requests bigint NOT NULL,
  failed bigint NOT NULL,
  -- The variable of the latest failure.
  variable text NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, hour)
);
-- Hours in which bodies of a source arrived, of the last 14 days.
CREATE TABLE IF NOT EXISTS source_hours (
  org_slug text NOT NULL REFERENCES organizations (slug),
  source text NOT NULL,
  hour timestamptz NOT NULL,
  PRIMARY KEY (org_slug, source, hour)
);
