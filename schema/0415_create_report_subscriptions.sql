-- Members who get a report of a template each Monday.
CREATE TABLE IF NOT EXISTS report_subscriptions (
  org_slug text NOT NULL REFERENCES organizations (slug),
  template_id text NOT NULL,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- mail, slack or teams.
  channel text NOT NULL,
  -- The URL of the incoming webhook, encrypted. NULL for mail.
  url text,
  created_at timestamptz NOT NULL,
  -- Time of the next report, of the next attempt of a failed one, or the end of the lease of a node that makes it.
  due_at timestamptz NOT NULL,
  -- Failed attempts of the current report.
  attempts integer NOT NULL DEFAULT 0,
  sent_at timestamptz,
  -- Why the last attempt failed. NULL if it succeeded.
  failure text,
  PRIMARY KEY (org_slug, template_id, account_id, channel),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS report_subscriptions_due ON report_subscriptions (due_at);
CREATE INDEX IF NOT EXISTS report_subscriptions_by_account ON report_subscriptions (account_id);
