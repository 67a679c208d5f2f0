-- The model that suggests variants of an organization, the rules of its copy, and how often it asked today.
CREATE TABLE IF NOT EXISTS suggestion_setups (
  org_slug text NOT NULL PRIMARY KEY REFERENCES organizations (slug),
  -- `default`: the endpoint of the installation. `own`: url and model of this row. `off`: no suggestions.
  endpoint text NOT NULL DEFAULT 'default',
  url text,
  model text,
  -- The API key for `url`, encrypted. NULL for an endpoint without a key.
  sealed text,
  -- Tone, forbidden words, required phrases, and maximum lengths by variable.
  rules json NOT NULL DEFAULT '{}',
  -- The day of `calls`, in UTC.
  day date,
  calls int NOT NULL DEFAULT 0,
  -- A request to the model is in progress until this time. NULL if none is.
  busy_until timestamptz
);
-- Variants that a model has suggested.
CREATE TABLE IF NOT EXISTS variant_suggestions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  -- Also the id of the variant, once it is kept.
  id text NOT NULL,
  -- The variant as an input of the API. NULL once it is kept.
  content json,
  model text NOT NULL,
  suggested_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, template_id, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
