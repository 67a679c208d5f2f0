-- Messages that a sink connection took, for people to look at. `id` is that of the delivery. `fault` says why no e-mail could
-- be composed of `vars`. Owned by src/sandbox.
CREATE TABLE IF NOT EXISTS sink_messages (
  org_slug text NOT NULL,
  id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  email text NOT NULL,
  sender text NOT NULL,
  subject text,
  html text,
  plain text,
  headers json NOT NULL,
  links json NOT NULL,
  vars json NOT NULL,
  fault text,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX IF NOT EXISTS sink_messages_by_time ON sink_messages (org_slug, received_at, id);
CREATE INDEX IF NOT EXISTS sink_messages_by_age ON sink_messages (received_at);
