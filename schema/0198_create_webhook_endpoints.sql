-- Servers of organizations that are told of events, such as a failed delivery, as Standard Webhooks has it.
CREATE TABLE IF NOT EXISTS webhook_endpoints (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  url text NOT NULL,
  description text NOT NULL,
  -- Types of events that it gets; empty: all.
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  -- Encrypted signing secrets, the newest first. Earlier ones sign until their time.
  secrets json NOT NULL,
  -- Why the service has disabled it.
  disabled_reason text,
  -- The first failure after the last success.
  failing_since timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
-- An event for an endpoint, stored in the transaction that makes it true, and sent later.
CREATE TABLE IF NOT EXISTS outgoing_webhooks (
  org_slug text NOT NULL,
  endpoint_id text NOT NULL,
  -- The webhook-id: the same event has the same at all endpoints.
  id text NOT NULL,
  type text NOT NULL,
  -- The body as it is signed, JSON.
  body text NOT NULL,
  -- The person's address in the body, so that erasures find it.
  address_key text,
  created_at timestamptz NOT NULL,
  -- pending, delivered or failed.
  state text NOT NULL,
  -- Attempts since it was created or replayed.
  attempts integer NOT NULL DEFAULT 0,
  first_failed_at timestamptz,
  due_at timestamptz NOT NULL,
  finished_at timestamptz,
  -- The last 20 attempts, JSON.
  log json NOT NULL DEFAULT '[]',
  PRIMARY KEY (org_slug, endpoint_id, id),
  FOREIGN KEY (org_slug, endpoint_id) REFERENCES webhook_endpoints (org_slug, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS outgoing_webhooks_due ON outgoing_webhooks (org_slug, endpoint_id, due_at) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS outgoing_webhooks_by_time ON outgoing_webhooks (org_slug, endpoint_id, created_at, id);
CREATE INDEX IF NOT EXISTS outgoing_webhooks_by_address ON outgoing_webhooks (org_slug, address_key) WHERE address_key IS NOT NULL;
