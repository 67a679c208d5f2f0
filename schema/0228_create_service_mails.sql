-- Mails of the service itself that are still to be sent, such as invitations, stored in the transaction that causes them. A mail that
-- was sent is deleted.
CREATE TABLE IF NOT EXISTS service_mails (
  -- The Message-ID before the @: the same in every attempt.
  id text PRIMARY KEY,
  kind text NOT NULL,
  -- Empty where the mail was given up.
  recipient text NOT NULL,
  -- Subject and body, encrypted, since they have links with tokens. Null: written when the mail is sent.
  content text,
  created_at timestamptz NOT NULL,
  -- pending, or failed for good.
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL,
  -- Why the last attempt failed.
  reason text
);
CREATE INDEX IF NOT EXISTS service_mails_due ON service_mails (due_at) WHERE state = 'pending';
