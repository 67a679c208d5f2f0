-- Revisions come from one sequence for all templates, so that one made anew under an old id never looks unchanged.
CREATE SEQUENCE IF NOT EXISTS template_revisions;
CREATE TABLE IF NOT EXISTS templates (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  name text NOT NULL,
  strict boolean NOT NULL DEFAULT false,
  sticky_hours double precision NOT NULL DEFAULT 0,
  objective jsonb NOT NULL DEFAULT '"click"',
  revision bigint NOT NULL DEFAULT nextval('template_revisions'),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
