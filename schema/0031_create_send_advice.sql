-- Advice on send times, until it is known whether it was followed and with which outcome.
CREATE TABLE IF NOT EXISTS send_advice (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  person text NOT NULL,
  copy_id text NOT NULL,
  given_at timestamptz NOT NULL,
  advised_at timestamptz NOT NULL,
  -- Drawn evenly from all allowed times.
  explored boolean NOT NULL,
  -- The narrowest level that knew anything: user, variant, template, organization, default.
  basis text NOT NULL,
  PRIMARY KEY (org_slug, person, copy_id, id)
);
CREATE INDEX IF NOT EXISTS send_advice_by_time ON send_advice USING brin (given_at);
