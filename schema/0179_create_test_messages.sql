-- Test messages of the last day, which limit how many more may be sent.
CREATE TABLE IF NOT EXISTS test_messages (
  id text NOT NULL PRIMARY KEY,
  org_slug text NOT NULL REFERENCES organizations (slug),
  sent_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS test_messages_by_time ON test_messages (org_slug, sent_at);
