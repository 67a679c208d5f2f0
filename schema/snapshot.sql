CREATE TABLE accounts (
  id text NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  password text,
  administrator boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  password_origin text,
  password_set_at timestamp with time zone,
  language text,
  last_seen_on date,
  UNIQUE (email),
  PRIMARY KEY (id)
);

CREATE TABLE actor_requests (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  actor_id text NOT NULL,
  request text NOT NULL,
  is_awaited boolean NOT NULL,
  asked_at timestamp with time zone NOT NULL DEFAULT now(),
  answered_at timestamp with time zone,
  answer text,
  has_failed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (id)
);

CREATE TABLE alerts (
  org_slug text NOT NULL,
  type text NOT NULL,
  subject text NOT NULL,
  opened_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, type, subject),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE api_keys (
  id text NOT NULL,
  org_slug text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  digest text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  rate_limit integer,
  rate_per text,
  kind text NOT NULL DEFAULT 'live'::text,
  PRIMARY KEY (id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX api_keys_org_slug_idx ON public.api_keys USING btree (org_slug);

CREATE TABLE attribute_counts (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  counts json NOT NULL,
  PRIMARY KEY (org_slug, template_id, id)
);

CREATE TABLE attribute_outcomes (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  period timestamp with time zone NOT NULL,
  name text NOT NULL,
  is_rounded boolean NOT NULL,
  counts json,
  PRIMARY KEY (org_slug, template_id, period, name)
);

CREATE TABLE attribution_links (
  org_slug text NOT NULL,
  source text NOT NULL,
  message_key text NOT NULL,
  tracking_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, source, message_key)
);

CREATE TABLE audit_chains (
  org_slug text NOT NULL,
  log text NOT NULL,
  seq bigint NOT NULL,
  hash text NOT NULL,
  anchor_seq bigint NOT NULL,
  anchor_hash text NOT NULL,
  first_at timestamp with time zone,
  PRIMARY KEY (org_slug, log)
);

CREATE TABLE audit_entries (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text,
  at timestamp with time zone NOT NULL,
  actor text NOT NULL,
  actor_id text,
  action text NOT NULL,
  subject text NOT NULL,
  details json NOT NULL,
  changes json,
  address text,
  refusal text,
  seq bigint,
  hash text,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX audit_entries_changes_chain_idx ON public.audit_entries USING btree (org_slug, seq) WHERE (refusal IS NULL);
CREATE INDEX audit_entries_of_installation_idx ON public.audit_entries USING btree (id DESC) WHERE ((org_slug IS NULL) OR (action = 'organization created'::text));
CREATE INDEX audit_entries_org_slug_action_idx ON public.audit_entries USING btree (org_slug, action, id DESC);
CREATE INDEX audit_entries_org_slug_actor_idx ON public.audit_entries USING btree (org_slug, actor, id DESC);
CREATE INDEX audit_entries_org_slug_at_idx ON public.audit_entries USING btree (org_slug, at);
CREATE INDEX audit_entries_org_slug_id_idx ON public.audit_entries USING btree (org_slug, id DESC);
CREATE INDEX audit_entries_org_slug_subject_idx ON public.audit_entries USING btree (org_slug, split_part(subject, ' / '::text, 1), id DESC);
CREATE UNIQUE INDEX audit_entries_refusals_chain_idx ON public.audit_entries USING btree (org_slug, seq) WHERE (refusal IS NOT NULL);
CREATE INDEX audit_entries_refusals_idx ON public.audit_entries USING btree (at) WHERE (refusal IS NOT NULL);
CREATE INDEX audit_entries_unsealed_idx ON public.audit_entries USING btree (id) WHERE (seq IS NULL);

CREATE TABLE backups (
  is_last boolean NOT NULL,
  shows_at timestamp with time zone NOT NULL,
  verified_at timestamp with time zone,
  PRIMARY KEY (is_last),
  CHECK (is_last)
);

CREATE TABLE bandit_states (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  revision bigint NOT NULL,
  folded_at timestamp with time zone NOT NULL,
  rolled_up_at timestamp with time zone NOT NULL,
  fitted_revision bigint,
  half_life json,
  contribution json,
  PRIMARY KEY (org_slug, template_id)
);

CREATE TABLE bucket_objects (
  org_slug text NOT NULL,
  key text NOT NULL,
  etag text NOT NULL,
  read_at timestamp with time zone NOT NULL,
  people integer NOT NULL,
  faulty integer NOT NULL,
  faults json NOT NULL,
  PRIMARY KEY (org_slug, key),
  FOREIGN KEY (org_slug) REFERENCES buckets(org_slug) ON DELETE CASCADE
);

CREATE TABLE buckets (
  org_slug text NOT NULL,
  endpoint text,
  region text NOT NULL,
  name text NOT NULL,
  folder text NOT NULL,
  access_key_id text NOT NULL,
  sealed text NOT NULL,
  is_active boolean NOT NULL,
  attributes_folder text,
  positions json NOT NULL DEFAULT '{}'::json,
  due_at timestamp with time zone NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  succeeded_at timestamp with time zone,
  problem text,
  PRIMARY KEY (org_slug),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX buckets_due ON public.buckets USING btree (due_at);

CREATE TABLE bulk_actions (
  org_slug text NOT NULL,
  id text NOT NULL,
  kind text NOT NULL,
  filter json NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamp with time zone NOT NULL,
  idempotency_key text,
  digest text,
  state text NOT NULL,
  matched bigint NOT NULL,
  changed bigint NOT NULL DEFAULT 0,
  position text NOT NULL DEFAULT ''::text,
  attempts integer NOT NULL DEFAULT 0,
  reason text,
  worked_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  PRIMARY KEY (org_slug, id)
);
CREATE UNIQUE INDEX bulk_actions_by_key ON public.bulk_actions USING btree (org_slug, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX bulk_actions_running ON public.bulk_actions USING btree (worked_at) WHERE (state = 'running'::text);

CREATE TABLE cluster_nodes (
  address text NOT NULL,
  session text NOT NULL,
  machine_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
  runner text NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  PRIMARY KEY (address)
);

CREATE TABLE cluster_shards (
  shard_id text NOT NULL,
  session text NOT NULL,
  PRIMARY KEY (shard_id)
);

CREATE TABLE compiled_sources (
  org_slug text NOT NULL,
  digest bytea NOT NULL,
  html text NOT NULL,
  checked_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, digest),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE connections (
  org_slug text NOT NULL,
  name text NOT NULL,
  platform text NOT NULL,
  settings json NOT NULL,
  secrets json NOT NULL,
  enabled boolean NOT NULL,
  paused boolean NOT NULL,
  is_default boolean NOT NULL,
  trouble json,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  refusing json,
  PRIMARY KEY (org_slug, name),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE daily_decisions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  copy_id text NOT NULL,
  decisions integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id)
);

CREATE TABLE decision_keys (
  key uuid NOT NULL,
  org_slug text NOT NULL,
  decided_at timestamp with time zone NOT NULL,
  PRIMARY KEY (key)
);

CREATE TABLE decisions (
  org_slug text NOT NULL,
  tracking_id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  user_id text,
  mode text NOT NULL,
  propensity double precision,
  weights json,
  segment text NOT NULL,
  policy text NOT NULL,
  lookback_days double precision,
  offset_days double precision,
  decided_at timestamp with time zone NOT NULL,
  holdout text,
  further text,
  failed json
);
CREATE INDEX decisions_by_time ON ONLY public.decisions USING brin (decided_at);
CREATE INDEX decisions_by_user ON ONLY public.decisions USING btree (org_slug, user_id, decided_at) WHERE (user_id IS NOT NULL);

CREATE TABLE decisions_first (
  org_slug text NOT NULL,
  tracking_id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  user_id text,
  mode text NOT NULL,
  propensity double precision,
  weights json,
  segment text NOT NULL,
  policy text NOT NULL,
  lookback_days double precision,
  offset_days double precision,
  decided_at timestamp with time zone NOT NULL,
  holdout text,
  further text,
  failed json,
  PRIMARY KEY (org_slug, tracking_id, template_id)
);
CREATE INDEX decisions_first_by_time ON public.decisions_first USING brin (decided_at);
CREATE INDEX decisions_first_by_user ON public.decisions_first USING btree (org_slug, user_id, decided_at) WHERE (user_id IS NOT NULL);

CREATE TABLE decisions_other (
  org_slug text NOT NULL,
  tracking_id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  user_id text,
  mode text NOT NULL,
  propensity double precision,
  weights json,
  segment text NOT NULL,
  policy text NOT NULL,
  lookback_days double precision,
  offset_days double precision,
  decided_at timestamp with time zone NOT NULL,
  holdout text,
  further text,
  failed json,
  PRIMARY KEY (org_slug, tracking_id, template_id)
);
CREATE INDEX decisions_other_decided_at_idx ON public.decisions_other USING brin (decided_at);
CREATE INDEX decisions_other_org_slug_user_id_decided_at_idx ON public.decisions_other USING btree (org_slug, user_id, decided_at) WHERE (user_id IS NOT NULL);

CREATE TABLE delay_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  outcome text NOT NULL,
  hour timestamp with time zone NOT NULL,
  delay_class smallint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, outcome, hour, delay_class)
);

CREATE TABLE deliveries (
  org_slug text NOT NULL,
  id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  email text,
  vars json,
  formats json NOT NULL,
  state text NOT NULL,
  due_at timestamp with time zone NOT NULL,
  queued_at timestamp with time zone NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  fence bigint,
  connection text,
  message_id text,
  reason text,
  finished_at timestamp with time zone,
  traceparent text,
  interruptions integer NOT NULL DEFAULT 0,
  size integer,
  address_key text,
  links json,
  is_transactional boolean NOT NULL DEFAULT false,
  first_failed_at timestamp with time zone,
  expires_at timestamp with time zone,
  first_attempt_at timestamp with time zone,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX deliveries_by_email ON public.deliveries USING btree (org_slug, email) WHERE (email IS NOT NULL);
CREATE INDEX deliveries_by_state ON public.deliveries USING btree (org_slug, state, id);
CREATE INDEX deliveries_due ON public.deliveries USING btree (org_slug, due_at, id) WHERE (state = 'queued'::text);
CREATE INDEX deliveries_due_by_domain ON public.deliveries USING btree (org_slug, split_part(address_key, '@'::text, '-1'::integer), is_transactional, due_at, id) WHERE ((state = 'queued'::text) AND (address_key IS NOT NULL));
CREATE INDEX deliveries_due_by_priority ON public.deliveries USING btree (org_slug, is_transactional, due_at, id) WHERE (state = 'queued'::text);
CREATE INDEX deliveries_expiring ON public.deliveries USING btree (expires_at) WHERE ((state = 'queued'::text) AND (expires_at IS NOT NULL));
CREATE INDEX deliveries_failed ON public.deliveries USING btree (org_slug, finished_at) WHERE (state = 'failed'::text);
CREATE INDEX deliveries_queued_by_address ON public.deliveries USING btree (org_slug, address_key) WHERE ((state = 'queued'::text) AND (address_key IS NOT NULL));
CREATE INDEX deliveries_sending ON public.deliveries USING btree (org_slug, fence) WHERE (state = 'sending'::text);

CREATE TABLE delivery_counts (
  org_slug text NOT NULL,
  hour timestamp with time zone NOT NULL,
  state text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (org_slug, hour, state)
);

CREATE TABLE delivery_minutes (
  org_slug text NOT NULL,
  minute timestamp with time zone NOT NULL,
  sent bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  queued bigint,
  oldest_due_seconds double precision,
  PRIMARY KEY (org_slug, minute)
);

CREATE TABLE dispatch_lanes (
  org_slug text NOT NULL,
  fence bigint NOT NULL,
  owner text NOT NULL,
  lease_until timestamp with time zone NOT NULL,
  sent_per_second double precision NOT NULL DEFAULT 0,
  brake json,
  PRIMARY KEY (org_slug)
);

CREATE TABLE dkim_keys (
  org_slug text NOT NULL,
  connection text NOT NULL,
  selector text NOT NULL,
  domain text NOT NULL,
  private_key text NOT NULL,
  public_key text NOT NULL,
  bits integer NOT NULL,
  signing boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, connection, selector),
  FOREIGN KEY (org_slug, connection) REFERENCES connections(org_slug, name) ON DELETE CASCADE
);
CREATE UNIQUE INDEX dkim_keys_signing ON public.dkim_keys USING btree (org_slug, connection) WHERE signing;

CREATE TABLE erasures (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  origin text NOT NULL,
  people json,
  requested_at timestamp with time zone NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  lease_until timestamp with time zone NOT NULL,
  counts json NOT NULL DEFAULT '{}'::json,
  kept json NOT NULL DEFAULT '[]'::json,
  reason text,
  finished_at timestamp with time zone,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX erasures_pending ON public.erasures USING btree (org_slug, id) WHERE (state = 'pending'::text);

CREATE TABLE even_split_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  people smallint NOT NULL,
  measure text NOT NULL,
  count bigint NOT NULL,
  weight bigint NOT NULL,
  square bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, people, measure)
);

CREATE TABLE events (
  org_slug text NOT NULL,
  source text NOT NULL,
  event_key text NOT NULL,
  template_id text NOT NULL,
  tracking_id text,
  named_template_id text,
  user_id text,
  inbox_id bigint NOT NULL,
  event text NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  received_at timestamp with time zone NOT NULL,
  automated boolean NOT NULL,
  link text,
  status text NOT NULL,
  retry_at timestamp with time zone,
  message_key text,
  value double precision,
  currency text,
  suppresses boolean,
  email text,
  opt_out_group text
);
CREATE INDEX events_by_body ON ONLY public.events USING btree (org_slug, inbox_id);
CREATE INDEX events_by_time ON ONLY public.events USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX events_by_tracking_id ON ONLY public.events USING btree (org_slug, tracking_id, occurred_at) WHERE (tracking_id IS NOT NULL);
CREATE INDEX events_of_email ON ONLY public.events USING btree (org_slug, lower(email), occurred_at) WHERE ((template_id = ''::text) AND (email IS NOT NULL));
CREATE INDEX events_of_user ON ONLY public.events USING btree (org_slug, user_id, occurred_at) WHERE ((template_id = ''::text) AND (user_id IS NOT NULL));
CREATE INDEX events_waiting ON ONLY public.events USING btree (retry_at) WHERE (status = 'waiting'::text);
CREATE INDEX events_waiting_for_link ON ONLY public.events USING btree (org_slug, source, message_key) WHERE ((status = 'waiting'::text) AND (message_key IS NOT NULL));
CREATE INDEX events_with_value ON ONLY public.events USING btree (org_slug, template_id, tracking_id) WHERE (value IS NOT NULL);

CREATE TABLE events_first (
  org_slug text NOT NULL,
  source text NOT NULL,
  event_key text NOT NULL,
  template_id text NOT NULL,
  tracking_id text,
  named_template_id text,
  user_id text,
  inbox_id bigint NOT NULL,
  event text NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  received_at timestamp with time zone NOT NULL,
  automated boolean NOT NULL,
  link text,
  status text NOT NULL,
  retry_at timestamp with time zone,
  message_key text,
  value double precision,
  currency text,
  suppresses boolean,
  email text,
  opt_out_group text,
  PRIMARY KEY (org_slug, source, event_key, template_id)
);
CREATE INDEX events_first_by_tracking_id ON public.events_first USING btree (org_slug, tracking_id, occurred_at) WHERE (tracking_id IS NOT NULL);
CREATE INDEX events_first_org_slug_inbox_id_idx ON public.events_first USING btree (org_slug, inbox_id);
CREATE INDEX events_first_org_slug_lower_occurred_at_idx ON public.events_first USING btree (org_slug, lower(email), occurred_at) WHERE ((template_id = ''::text) AND (email IS NOT NULL));
CREATE INDEX events_first_org_slug_template_id_tracking_id_idx ON public.events_first USING btree (org_slug, template_id, tracking_id) WHERE (value IS NOT NULL);
CREATE INDEX events_first_org_slug_user_id_occurred_at_idx ON public.events_first USING btree (org_slug, user_id, occurred_at) WHERE ((template_id = ''::text) AND (user_id IS NOT NULL));
CREATE INDEX events_first_received_at_idx ON public.events_first USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX events_first_waiting ON public.events_first USING btree (retry_at) WHERE (status = 'waiting'::text);
CREATE INDEX events_first_waiting_for_link ON public.events_first USING btree (org_slug, source, message_key) WHERE ((status = 'waiting'::text) AND (message_key IS NOT NULL));

CREATE TABLE events_other (
  org_slug text NOT NULL,
  source text NOT NULL,
  event_key text NOT NULL,
  template_id text NOT NULL,
  tracking_id text,
  named_template_id text,
  user_id text,
  inbox_id bigint NOT NULL,
  event text NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  received_at timestamp with time zone NOT NULL,
  automated boolean NOT NULL,
  link text,
  status text NOT NULL,
  retry_at timestamp with time zone,
  message_key text,
  value double precision,
  currency text,
  suppresses boolean,
  email text,
  opt_out_group text,
  PRIMARY KEY (org_slug, source, event_key, template_id)
);
CREATE INDEX events_other_org_slug_inbox_id_idx ON public.events_other USING btree (org_slug, inbox_id);
CREATE INDEX events_other_org_slug_lower_occurred_at_idx ON public.events_other USING btree (org_slug, lower(email), occurred_at) WHERE ((template_id = ''::text) AND (email IS NOT NULL));
CREATE INDEX events_other_org_slug_source_message_key_idx ON public.events_other USING btree (org_slug, source, message_key) WHERE ((status = 'waiting'::text) AND (message_key IS NOT NULL));
CREATE INDEX events_other_org_slug_template_id_tracking_id_idx ON public.events_other USING btree (org_slug, template_id, tracking_id) WHERE (value IS NOT NULL);
CREATE INDEX events_other_org_slug_tracking_id_occurred_at_idx ON public.events_other USING btree (org_slug, tracking_id, occurred_at) WHERE (tracking_id IS NOT NULL);
CREATE INDEX events_other_org_slug_user_id_occurred_at_idx ON public.events_other USING btree (org_slug, user_id, occurred_at) WHERE ((template_id = ''::text) AND (user_id IS NOT NULL));
CREATE INDEX events_other_received_at_idx ON public.events_other USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX events_other_retry_at_idx ON public.events_other USING btree (retry_at) WHERE (status = 'waiting'::text);

CREATE TABLE fatigue_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  copy_id text NOT NULL,
  level smallint NOT NULL,
  seen smallint NOT NULL,
  decisions integer NOT NULL,
  open integer NOT NULL,
  click integer NOT NULL,
  conversion integer NOT NULL,
  negative integer NOT NULL,
  expected double precision NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id, level, seen)
);

CREATE TABLE fold_attempts (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  attempts integer NOT NULL,
  attempted_at timestamp with time zone NOT NULL,
  reason text,
  stopped_at timestamp with time zone,
  PRIMARY KEY (org_slug, template_id)
);

CREATE TABLE group_roles (
  org_slug text NOT NULL,
  id text NOT NULL,
  group_name text NOT NULL,
  role text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE UNIQUE INDEX group_roles_by_name ON public.group_roles USING btree (org_slug, group_name);

CREATE TABLE holdout_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  holdout text NOT NULL,
  control boolean NOT NULL,
  people smallint NOT NULL,
  decisions integer NOT NULL,
  open integer NOT NULL,
  click integer NOT NULL,
  conversion integer NOT NULL,
  negative integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, holdout, control, people)
);

CREATE TABLE idempotency_keys (
  org_slug text NOT NULL,
  key text NOT NULL,
  digest text NOT NULL,
  delivery_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, key)
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);

CREATE TABLE images (
  org_slug text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  width integer NOT NULL,
  height integer NOT NULL,
  size integer NOT NULL,
  file bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE inbox (
  id bigint NOT NULL DEFAULT nextval('inbox_ids'::regclass),
  org_slug text NOT NULL,
  source text NOT NULL,
  received_at timestamp with time zone NOT NULL,
  headers json NOT NULL,
  body bytea NOT NULL,
  status text NOT NULL,
  events integer,
  duplicates integer,
  ignored integer,
  faults json,
  attempts integer NOT NULL DEFAULT 0,
  unused json
);
CREATE INDEX inbox_by_source ON ONLY public.inbox USING btree (org_slug, source, id);
CREATE INDEX inbox_by_time ON ONLY public.inbox USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX inbox_not_understood ON ONLY public.inbox USING btree (org_slug, source, id) WHERE (status = ANY (ARRAY['partial'::text, 'rejected'::text]));
CREATE INDEX inbox_pending ON ONLY public.inbox USING btree (id) WHERE (status = 'pending'::text);
CREATE INDEX inbox_pending_large ON ONLY public.inbox USING btree (id) WHERE ((status = 'pending'::text) AND (octet_length(body) > 49152));

CREATE TABLE inbox_first (
  id bigint NOT NULL,
  org_slug text NOT NULL,
  source text NOT NULL,
  received_at timestamp with time zone NOT NULL,
  headers json NOT NULL,
  body bytea NOT NULL,
  status text NOT NULL,
  events integer,
  duplicates integer,
  ignored integer,
  faults json,
  attempts integer NOT NULL DEFAULT 0,
  unused json,
  PRIMARY KEY (id)
);
CREATE INDEX inbox_first_by_source ON public.inbox_first USING btree (org_slug, source, id);
CREATE INDEX inbox_first_by_time ON public.inbox_first USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX inbox_first_id_idx ON public.inbox_first USING btree (id) WHERE ((status = 'pending'::text) AND (octet_length(body) > 49152));
CREATE INDEX inbox_first_not_understood ON public.inbox_first USING btree (org_slug, source, id) WHERE (status = ANY (ARRAY['partial'::text, 'rejected'::text]));
CREATE INDEX inbox_first_pending ON public.inbox_first USING btree (id) WHERE (status = 'pending'::text);

CREATE TABLE inbox_other (
  id bigint NOT NULL,
  org_slug text NOT NULL,
  source text NOT NULL,
  received_at timestamp with time zone NOT NULL,
  headers json NOT NULL,
  body bytea NOT NULL,
  status text NOT NULL,
  events integer,
  duplicates integer,
  ignored integer,
  faults json,
  attempts integer NOT NULL DEFAULT 0,
  unused json,
  PRIMARY KEY (id)
);
CREATE INDEX inbox_other_id_idx ON public.inbox_other USING btree (id) WHERE (status = 'pending'::text);
CREATE INDEX inbox_other_id_idx1 ON public.inbox_other USING btree (id) WHERE ((status = 'pending'::text) AND (octet_length(body) > 49152));
CREATE INDEX inbox_other_org_slug_source_id_idx ON public.inbox_other USING btree (org_slug, source, id) WHERE (status = ANY (ARRAY['partial'::text, 'rejected'::text]));
CREATE INDEX inbox_other_org_slug_source_id_idx1 ON public.inbox_other USING btree (org_slug, source, id);
CREATE INDEX inbox_other_received_at_idx ON public.inbox_other USING brin (received_at) WITH (autosummarize='on');

CREATE TABLE intake_batches (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  inbox_ids bigint[] NOT NULL,
  due_at timestamp with time zone NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX intake_batches_by_time ON public.intake_batches USING btree (due_at);

CREATE TABLE invitations (
  id text NOT NULL,
  org_slug text NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  digest text NOT NULL,
  invited_by text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  accepted_at timestamp with time zone,
  UNIQUE (digest),
  PRIMARY KEY (id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX invitations_email_idx ON public.invitations USING btree (email);
CREATE INDEX invitations_org_slug_idx ON public.invitations USING btree (org_slug);

CREATE TABLE kept_results (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  revision bigint NOT NULL,
  release text NOT NULL,
  made_at timestamp with time zone NOT NULL,
  answer json NOT NULL,
  PRIMARY KEY (org_slug, template_id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE key_uses (
  key_id text NOT NULL,
  node_id text NOT NULL,
  asked_per_second double precision NOT NULL,
  used double precision NOT NULL,
  reported_at timestamp with time zone NOT NULL,
  PRIMARY KEY (key_id, node_id)
);

CREATE TABLE late_rows (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  stream text NOT NULL,
  noted_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  row_at timestamp with time zone NOT NULL,
  row_key text[] NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX late_rows_by_time ON public.late_rows USING btree (org_slug, stream, noted_at, id);

CREATE TABLE memberships (
  org_slug text NOT NULL,
  account_id text NOT NULL,
  role text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  from_group text,
  PRIMARY KEY (org_slug, account_id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX memberships_account_id_idx ON public.memberships USING btree (account_id);

CREATE TABLE models (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  version bigint NOT NULL,
  publication bigint NOT NULL,
  fitted_at timestamp with time zone NOT NULL,
  snapshot json NOT NULL,
  PRIMARY KEY (org_slug, template_id)
);
CREATE INDEX models_by_publication ON public.models USING btree (publication);

CREATE TABLE notification_preferences (
  org_slug text NOT NULL,
  account_id text NOT NULL,
  mail json NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, account_id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE notifications (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  account_id text NOT NULL,
  kind text NOT NULL,
  data json NOT NULL,
  created_at timestamp with time zone NOT NULL,
  read_at timestamp with time zone,
  mail text,
  PRIMARY KEY (id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX notifications_by_account ON public.notifications USING btree (account_id, org_slug, id);
CREATE INDEX notifications_by_time ON public.notifications USING btree (created_at);
CREATE INDEX notifications_to_mail ON public.notifications USING btree (org_slug, account_id, mail) WHERE (mail IS NOT NULL);
CREATE INDEX notifications_unread ON public.notifications USING btree (account_id, org_slug) WHERE (read_at IS NULL);

CREATE TABLE one_time_links (
  digest text NOT NULL,
  purpose text NOT NULL,
  account_id text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  PRIMARY KEY (digest),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE organizations (
  slug text NOT NULL,
  name text NOT NULL,
  time_zone text NOT NULL DEFAULT 'UTC'::text,
  exploration_floor double precision NOT NULL DEFAULT 0.01,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  delay_horizon_hours double precision NOT NULL DEFAULT 24,
  quiet_hours json,
  allowed_days json,
  retention_days integer NOT NULL DEFAULT 400,
  inbox_retention_days integer NOT NULL DEFAULT 30,
  webhook_daily_bytes bigint,
  require_second_factor boolean NOT NULL DEFAULT false,
  holdout jsonb NOT NULL DEFAULT '{"share": 0, "content": "even"}'::jsonb,
  suppression boolean NOT NULL DEFAULT true,
  soft_bounce_limit integer DEFAULT 5,
  conversion_events text[] NOT NULL DEFAULT '{}'::text[],
  tracking jsonb NOT NULL DEFAULT '{"url": null, "opens": false, "clicks": false}'::jsonb,
  unsubscribe_page jsonb,
  sandbox_of text,
  currency text,
  template_approval text NOT NULL DEFAULT 'none'::text,
  delivery_failure_threshold double precision NOT NULL DEFAULT 0.1,
  group_opt_outs text[] NOT NULL DEFAULT '{}'::text[],
  PRIMARY KEY (slug),
  FOREIGN KEY (sandbox_of) REFERENCES organizations(slug)
);
CREATE UNIQUE INDEX organizations_sandbox_of_idx ON public.organizations USING btree (sandbox_of) WHERE (sandbox_of IS NOT NULL);

CREATE TABLE outgoing_webhooks (
  org_slug text NOT NULL,
  endpoint_id text NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  address_key text,
  created_at timestamp with time zone NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  first_failed_at timestamp with time zone,
  due_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  log json NOT NULL DEFAULT '[]'::json,
  batch json,
  PRIMARY KEY (org_slug, endpoint_id, id),
  FOREIGN KEY (org_slug, endpoint_id) REFERENCES webhook_endpoints(org_slug, id) ON DELETE CASCADE
);
CREATE INDEX outgoing_webhooks_by_address ON public.outgoing_webhooks USING btree (org_slug, address_key) WHERE (address_key IS NOT NULL);
CREATE INDEX outgoing_webhooks_by_time ON public.outgoing_webhooks USING btree (org_slug, endpoint_id, created_at, id);
CREATE INDEX outgoing_webhooks_due ON public.outgoing_webhooks USING btree (org_slug, endpoint_id, due_at) WHERE (state = 'pending'::text);

CREATE TABLE passkeys (
  id text NOT NULL,
  account_id text NOT NULL,
  name text NOT NULL,
  rp_id text NOT NULL,
  credential_id text NOT NULL,
  public_key text NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  synced boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_used_at timestamp with time zone,
  PRIMARY KEY (id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX passkeys_by_account ON public.passkeys USING btree (account_id);
CREATE UNIQUE INDEX passkeys_by_credential ON public.passkeys USING btree (credential_id);

CREATE TABLE profiles (
  org_slug text NOT NULL,
  user_id text NOT NULL,
  email text,
  traits json NOT NULL,
  reported_at json NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, user_id)
);
CREATE INDEX profiles_by_email ON public.profiles USING btree (org_slug, lower(email)) WHERE (email IS NOT NULL);

CREATE TABLE propensity_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  candidates text NOT NULL,
  copy_id text NOT NULL,
  measure text NOT NULL,
  count bigint NOT NULL,
  weight bigint NOT NULL,
  square bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, candidates, copy_id, measure)
);

CREATE TABLE read_mark (
  one boolean NOT NULL DEFAULT true,
  marked_at timestamp with time zone NOT NULL DEFAULT now(),
  PRIMARY KEY (one),
  CHECK (one)
);

CREATE TABLE recovery_codes (
  account_id text NOT NULL,
  digest text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  used_at timestamp with time zone,
  PRIMARY KEY (account_id, digest),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE rendering_hours (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  hour timestamp with time zone NOT NULL,
  requests bigint NOT NULL,
  failed bigint NOT NULL,
  variable text NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, hour),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE repeat_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  bucket_start timestamp with time zone NOT NULL,
  outcome text NOT NULL,
  again bigint NOT NULL,
  seen bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, bucket_start, outcome)
);

CREATE TABLE report_subscriptions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  account_id text NOT NULL,
  channel text NOT NULL,
  url text,
  created_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  sent_at timestamp with time zone,
  failure text,
  PRIMARY KEY (org_slug, template_id, account_id, channel),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug) REFERENCES organizations(slug),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);
CREATE INDEX report_subscriptions_by_account ON public.report_subscriptions USING btree (account_id);
CREATE INDEX report_subscriptions_due ON public.report_subscriptions USING btree (due_at);

CREATE TABLE request_notices (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  kind text NOT NULL,
  hour timestamp with time zone NOT NULL,
  requests bigint NOT NULL,
  members text NOT NULL,
  PRIMARY KEY (org_slug, template_id, kind, hour),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE result_shares (
  org_slug text NOT NULL,
  id text NOT NULL,
  template_id text NOT NULL,
  digest text NOT NULL,
  author text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  UNIQUE (digest),
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);
CREATE INDEX result_shares_template_idx ON public.result_shares USING btree (org_slug, template_id, created_at DESC);

CREATE TABLE revenue_rules (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  cap double precision NOT NULL,
  currency text,
  PRIMARY KEY (org_slug, template_id)
);

CREATE TABLE sample_people (
  org_slug text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  user_id text,
  attrs json NOT NULL,
  fields json NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE saved_views (
  org_slug text NOT NULL,
  id text NOT NULL,
  list text NOT NULL,
  name text NOT NULL,
  query text NOT NULL,
  account_id text,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX saved_views_by_account ON public.saved_views USING btree (account_id);

CREATE TABLE schema_compatibility (
  one boolean NOT NULL DEFAULT true,
  works_from integer NOT NULL,
  PRIMARY KEY (one),
  CHECK (one)
);

CREATE TABLE schema_migrations (
  migration_id integer NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  name text NOT NULL,
  PRIMARY KEY (migration_id)
);

CREATE TABLE second_factors (
  account_id text NOT NULL,
  secret text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  confirmed_at timestamp with time zone,
  last_step bigint,
  PRIMARY KEY (account_id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE send_advice (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  person text NOT NULL,
  copy_id text NOT NULL,
  given_at timestamp with time zone NOT NULL,
  advised_at timestamp with time zone NOT NULL,
  explored boolean NOT NULL,
  basis text NOT NULL,
  PRIMARY KEY (org_slug, person, copy_id, id)
);
CREATE INDEX send_advice_by_time ON public.send_advice USING brin (given_at);

CREATE TABLE send_time_marks (
  org_slug text NOT NULL,
  settled_until timestamp with time zone NOT NULL,
  counted_until timestamp with time zone,
  PRIMARY KEY (org_slug)
);

CREATE TABLE send_times (
  org_slug text NOT NULL,
  kind text NOT NULL,
  person text NOT NULL,
  spot bigint NOT NULL,
  touches bytea NOT NULL,
  zone text,
  PRIMARY KEY (org_slug, kind, person)
);
CREATE INDEX send_times_by_spot ON public.send_times USING btree (org_slug, spot);

CREATE TABLE service_mails (
  id text NOT NULL,
  kind text NOT NULL,
  recipient text NOT NULL,
  content text,
  created_at timestamp with time zone NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamp with time zone NOT NULL,
  reason text,
  PRIMARY KEY (id)
);
CREATE INDEX service_mails_due ON public.service_mails USING btree (due_at) WHERE (state = 'pending'::text);

CREATE TABLE sessions (
  id text NOT NULL,
  digest text NOT NULL,
  account_id text NOT NULL,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  last_seen_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  method text,
  UNIQUE (digest),
  PRIMARY KEY (id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX sessions_account_id_idx ON public.sessions USING btree (account_id);

CREATE TABLE sign_in_attempts (
  subject text NOT NULL,
  attempts integer NOT NULL,
  started_at timestamp with time zone NOT NULL,
  PRIMARY KEY (subject)
);

CREATE TABLE signing_keys (
  name text NOT NULL,
  key text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE sink_messages (
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
  received_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX sink_messages_by_age ON public.sink_messages USING btree (received_at);
CREATE INDEX sink_messages_by_time ON public.sink_messages USING btree (org_slug, received_at, id);

CREATE TABLE snippet_proposals (
  org_slug text NOT NULL,
  snippet_id text NOT NULL,
  name text NOT NULL,
  text text NOT NULL,
  author text NOT NULL,
  version integer NOT NULL,
  base_revision bigint NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, snippet_id),
  FOREIGN KEY (org_slug, snippet_id) REFERENCES snippets(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE snippet_versions (
  org_slug text NOT NULL,
  snippet_id text NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  text text NOT NULL,
  format text NOT NULL,
  author text,
  saved_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, snippet_id, id),
  FOREIGN KEY (org_slug, snippet_id) REFERENCES snippets(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE snippets (
  org_slug text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  text text NOT NULL,
  format text NOT NULL,
  revision bigint NOT NULL DEFAULT nextval('template_revisions'::regclass),
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE soft_bounces (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  count integer NOT NULL,
  last_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, address_key)
);

CREATE TABLE source_hours (
  org_slug text NOT NULL,
  source text NOT NULL,
  hour timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, source, hour),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE start_views (
  org_slug text NOT NULL,
  list text NOT NULL,
  account_id text NOT NULL,
  view_id text NOT NULL,
  PRIMARY KEY (org_slug, list, account_id),
  FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  FOREIGN KEY (org_slug, view_id) REFERENCES saved_views(org_slug, id) ON DELETE CASCADE
);
CREATE INDEX start_views_by_account ON public.start_views USING btree (account_id);
CREATE INDEX start_views_by_view ON public.start_views USING btree (org_slug, view_id);

CREATE TABLE sticky_choices (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  user_id text NOT NULL,
  copy_id text NOT NULL,
  tracking_id text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  control boolean NOT NULL DEFAULT false,
  PRIMARY KEY (org_slug, template_id, user_id)
);

CREATE TABLE suggestion_setups (
  org_slug text NOT NULL,
  endpoint text NOT NULL DEFAULT 'default'::text,
  url text,
  model text,
  sealed text,
  rules json NOT NULL DEFAULT '{}'::json,
  day date,
  calls integer NOT NULL DEFAULT 0,
  busy_until timestamp with time zone,
  PRIMARY KEY (org_slug),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE suppression_keys (
  id text NOT NULL,
  sealed text NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE suppression_removals (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  reason text NOT NULL,
  removed_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, address_key, reason)
);

CREATE TABLE suppression_salt (
  salt text NOT NULL
);

CREATE TABLE suppressions (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  reason text NOT NULL,
  source text NOT NULL,
  suppressed_at timestamp with time zone NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  last_reported_at timestamp with time zone,
  PRIMARY KEY (org_slug, address_key, reason)
);
CREATE UNIQUE INDEX suppressions_by_id ON public.suppressions USING btree (org_slug, id);

CREATE TABLE tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  segment text NOT NULL,
  bucket_start timestamp with time zone NOT NULL,
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
  segment_text text,
  revenue bigint NOT NULL DEFAULT 0,
  revenue_square bigint NOT NULL DEFAULT 0,
  other_currency integer NOT NULL DEFAULT 0,
  unrendered integer NOT NULL DEFAULT 0,
  set_aside_reported integer NOT NULL DEFAULT 0,
  set_aside_early integer NOT NULL DEFAULT 0,
  set_aside_unsubscribe integer NOT NULL DEFAULT 0,
  set_aside_burst integer NOT NULL DEFAULT 0,
  set_aside_series integer NOT NULL DEFAULT 0,
  only_set_aside integer NOT NULL DEFAULT 0,
  PRIMARY KEY (org_slug, template_id, copy_id, segment, bucket_start, track)
);

CREATE TABLE tally_ledger (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  segment text NOT NULL,
  hour timestamp with time zone NOT NULL,
  track text NOT NULL,
  counts json NOT NULL,
  delays json,
  traceparent text,
  PRIMARY KEY (org_slug, template_id, id)
);

CREATE TABLE template_comments (
  org_slug text NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  template_id text NOT NULL,
  variant_id text,
  author text NOT NULL,
  text text NOT NULL,
  mentions text[] NOT NULL DEFAULT '{}'::text[],
  created_at timestamp with time zone NOT NULL,
  edited_at timestamp with time zone,
  resolved_at timestamp with time zone,
  resolved_by text,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);
CREATE INDEX template_comments_template_idx ON public.template_comments USING btree (org_slug, template_id, id DESC);

CREATE TABLE template_proposals (
  org_slug text NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  template_id text NOT NULL,
  author text NOT NULL,
  state text NOT NULL,
  base json,
  proposed json,
  version integer NOT NULL,
  note text NOT NULL DEFAULT ''::text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  decided_by text,
  decided_at timestamp with time zone,
  comment text,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE UNIQUE INDEX template_proposals_open_idx ON public.template_proposals USING btree (org_slug, template_id, author) WHERE (state = 'requested'::text);
CREATE INDEX template_proposals_template_idx ON public.template_proposals USING btree (org_slug, template_id, id DESC);

CREATE TABLE templates (
  org_slug text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  strict boolean NOT NULL DEFAULT false,
  sticky_hours double precision NOT NULL DEFAULT 0,
  objective jsonb NOT NULL DEFAULT '"click"'::jsonb,
  revision bigint NOT NULL DEFAULT nextval('template_revisions'::regclass),
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  link_domains text[] NOT NULL DEFAULT '{}'::text[],
  archived_at timestamp with time zone,
  holdout jsonb,
  ignore_unsubscribes boolean NOT NULL DEFAULT false,
  conversion_events text[] NOT NULL DEFAULT '{}'::text[],
  tracking jsonb,
  list_unsubscribe boolean NOT NULL DEFAULT false,
  tags text[] NOT NULL DEFAULT '{}'::text[],
  owner text,
  send_nothing boolean NOT NULL DEFAULT false,
  runner_up_floor double precision NOT NULL DEFAULT 0,
  locale jsonb,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE test_groups (
  org_slug text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  emails text[] NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE test_messages (
  id text NOT NULL,
  org_slug text NOT NULL,
  sent_at timestamp with time zone NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX test_messages_by_time ON public.test_messages USING btree (org_slug, sent_at);

CREATE TABLE timing_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  day timestamp with time zone NOT NULL,
  followed boolean NOT NULL,
  explored boolean NOT NULL,
  sends integer NOT NULL,
  engaged integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id, followed, explored)
);

CREATE TABLE tracked_links (
  org_slug text NOT NULL,
  key text NOT NULL,
  target text NOT NULL,
  used_on date NOT NULL,
  PRIMARY KEY (org_slug, key)
);

CREATE TABLE tracking_aliases (
  org_slug text NOT NULL,
  alias text NOT NULL,
  template_id text NOT NULL,
  tracking_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, alias, template_id)
);

CREATE TABLE upkeep_runs (
  job text NOT NULL,
  due_at timestamp with time zone NOT NULL,
  PRIMARY KEY (job)
);

CREATE TABLE variant_delay_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  outcome text NOT NULL,
  day timestamp with time zone NOT NULL,
  delay_class smallint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, outcome, day, delay_class)
);

CREATE TABLE variant_drafts (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  variant_id text NOT NULL,
  author text NOT NULL,
  form json NOT NULL,
  base timestamp with time zone,
  saved_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, template_id, variant_id, author),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE variant_suggestions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  id text NOT NULL,
  content json,
  model text NOT NULL,
  suggested_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, template_id, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE variant_versions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  variant_id text NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  vars json NOT NULL,
  formats json NOT NULL,
  targeting json NOT NULL,
  seasons json NOT NULL,
  components json NOT NULL,
  digest text NOT NULL,
  author text,
  saved_at timestamp with time zone NOT NULL,
  locales json NOT NULL DEFAULT '{}'::json,
  PRIMARY KEY (org_slug, template_id, variant_id, id),
  FOREIGN KEY (org_slug, template_id, variant_id) REFERENCES variants(org_slug, template_id, id) ON DELETE CASCADE
);

CREATE TABLE variants (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  id text NOT NULL,
  position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  vars json NOT NULL,
  formats json NOT NULL DEFAULT '{}'::json,
  active boolean NOT NULL DEFAULT true,
  targeting json NOT NULL DEFAULT '[]'::json,
  seasons json NOT NULL DEFAULT '[]'::json,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  components json NOT NULL DEFAULT '{}'::json,
  locales json NOT NULL DEFAULT '{}'::json,
  PRIMARY KEY (org_slug, template_id, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE webhook_endpoints (
  org_slug text NOT NULL,
  id text NOT NULL,
  url text NOT NULL,
  description text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  secrets json NOT NULL,
  disabled_reason text,
  failing_since timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE webhook_feeds (
  org_slug text NOT NULL,
  endpoint_id text NOT NULL,
  stream text NOT NULL,
  since timestamp with time zone NOT NULL,
  cursor text,
  due_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, endpoint_id, stream),
  FOREIGN KEY (org_slug, endpoint_id) REFERENCES webhook_endpoints(org_slug, id) ON DELETE CASCADE
);

CREATE TABLE webhook_sources (
  org_slug text NOT NULL,
  source text NOT NULL,
  enabled boolean NOT NULL,
  secrets json NOT NULL,
  settings json NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, source),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE webhook_usage (
  org_slug text NOT NULL,
  day date NOT NULL,
  bytes bigint NOT NULL,
  refused bigint NOT NULL,
  PRIMARY KEY (org_slug, day),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug) ON DELETE CASCADE
);
