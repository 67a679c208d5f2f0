-- `position` keeps the order in which variants were added. `vars` and `formats` are json, not jsonb, since the order of
-- a template's variables is the author's.
CREATE TABLE IF NOT EXISTS variants (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  id text NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  vars json NOT NULL,
  formats json NOT NULL DEFAULT '{}',
  active boolean NOT NULL DEFAULT true,
  targeting json NOT NULL DEFAULT '[]',
  seasons json NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, template_id, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
