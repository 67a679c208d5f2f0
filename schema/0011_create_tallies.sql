-- Contributions of decisions and events, appended in their transaction, until they are folded into tallies. `counts`
-- by measure; `delays` how many first outcomes came after which delay, as `outcome:class`.
CREATE TABLE IF NOT EXISTS tally_ledger (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  segment text NOT NULL,
  hour timestamptz NOT NULL,
  track text NOT NULL,
  counts json NOT NULL,
  delays json,
  PRIMARY KEY (org_slug, template_id, id)
);
-- Counts per variant, segment and bucket of the time of the decision (its hour, later its day, later its week).
CREATE TABLE IF NOT EXISTS tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  segment text NOT NULL,
  bucket_start timestamptz NOT NULL,
  track text NOT NULL,
  decisions integer NOT NULL,
  sent integer NOT NULL,
  delivered integer NOT NULL,
  open integer NOT NULL,
  click integer NOT NULL,
  other integer NOT NULL,
  conversion integer NOT NULL,
  bounce integer NOT NULL,
  soft_bounce integer NOT NULL,
  failed integer NOT NULL,
  unsubscribe integer NOT NULL,
  spam integer NOT NULL,
  negative integer NOT NULL,
  voided integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, segment, bucket_start, track)
);
-- First outcomes per hour of the decision and class of delay.
CREATE TABLE IF NOT EXISTS delay_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  outcome text NOT NULL,
  hour timestamptz NOT NULL,
  delay_class smallint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, outcome, hour, delay_class)
);
