-- Changes by console, API or command line. Without secrets and personal data of end users.
CREATE TABLE IF NOT EXISTS audit_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_slug text,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  actor_id text,
  action text NOT NULL,
  subject text NOT NULL,
  details json NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_entries_org_slug_id_idx ON audit_entries (org_slug, id DESC);
