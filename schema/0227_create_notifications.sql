-- What members are told of, such as a winner or a comment: a row for each of them, stored in the transaction that makes it true.
CREATE TABLE IF NOT EXISTS notifications (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_slug text NOT NULL REFERENCES organizations (slug),
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind text NOT NULL,
  -- The data of the webhook event of this kind.
  data json NOT NULL,
  created_at timestamptz NOT NULL,
  -- Null: unread.
  read_at timestamptz,
  -- Mail that is still to be queued: immediate or digest. Null: none.
  mail text
);
CREATE INDEX IF NOT EXISTS notifications_by_account ON notifications (account_id, org_slug, id);
CREATE INDEX IF NOT EXISTS notifications_unread ON notifications (account_id, org_slug) WHERE read_at IS NULL;
CREATE INDEX IF NOT EXISTS notifications_by_time ON notifications (created_at);
CREATE INDEX IF NOT EXISTS notifications_to_mail ON notifications (org_slug, account_id, mail) WHERE mail IS NOT NULL;
-- The kinds of notifications that a member wants by mail. Members without a row have the defaults.
CREATE TABLE IF NOT EXISTS notification_preferences (
  org_slug text NOT NULL REFERENCES organizations (slug),
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- immediate, digest or off by kind, JSON. A kind that is absent has its default.
  mail json NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, account_id)
);
