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
  PRIMARY KEY (id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);
CREATE INDEX api_keys_org_slug_idx ON public.api_keys USING btree (org_slug);

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
  PRIMARY KEY (org_slug, tracking_id, template_id)
);

CREATE TABLE organizations (
  slug text NOT NULL,
  name text NOT NULL,
  time_zone text NOT NULL DEFAULT 'UTC'::text,
  exploration_floor double precision NOT NULL DEFAULT 0.01,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  PRIMARY KEY (slug)
);

CREATE TABLE schema_migrations (
  migration_id integer NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  name text NOT NULL,
  PRIMARY KEY (migration_id)
);

CREATE TABLE sticky_choices (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  user_id text NOT NULL,
  copy_id text NOT NULL,
  tracking_id text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, template_id, user_id)
);

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
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug) REFERENCES organizations(slug)
);

CREATE TABLE tracking_aliases (
  org_slug text NOT NULL,
  alias text NOT NULL,
  template_id text NOT NULL,
  tracking_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, alias, template_id)
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
  PRIMARY KEY (org_slug, template_id, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates(org_slug, id) ON DELETE CASCADE
);
