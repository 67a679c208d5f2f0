CREATE TABLE IF NOT EXISTS deliveries (
  org_slug text NOT NULL,
  -- A UUID of version 7, in the order in which messages were queued; also the tracking id of its decision.
  id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  -- Null once the person has been erased, like vars.
  email text,
  vars json,
  formats json NOT NULL,
  -- queued, sending, sent, failed, cancelled
  state text NOT NULL,
  -- Not before this it leaves; moves on with every attempt that is to be repeated.
  due_at timestamptz NOT NULL,
  queued_at timestamptz NOT NULL,
  -- Attempts that ended without an acceptance.
  attempts integer NOT NULL DEFAULT 0,
  -- The lane (its fence) that took it last.
  fence bigint,
  connection text,
  message_id text,
  reason text,
  finished_at timestamptz,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (org_slug, due_at, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS deliveries_sending ON deliveries (org_slug, fence) WHERE state = 'sending';
CREATE INDEX IF NOT EXISTS deliveries_by_state ON deliveries (org_slug, state, id);
CREATE INDEX IF NOT EXISTS deliveries_by_email ON deliveries (org_slug, email) WHERE email IS NOT NULL;
