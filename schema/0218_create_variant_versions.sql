-- The content of variants after each change of it, for restoring. Whether a variant is active is no part of its content.
CREATE TABLE IF NOT EXISTS variant_versions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  variant_id text NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  vars json NOT NULL,
  formats json NOT NULL,
  targeting json NOT NULL,
  seasons json NOT NULL,
  components json NOT NULL,
  -- Of all of the content, so that a change of something else makes no version.
  digest text NOT NULL,
  -- As in the audit log; null where it is not known.
  author text,
  saved_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, template_id, variant_id, id),
  FOREIGN KEY (org_slug, template_id, variant_id) REFERENCES variants (org_slug, template_id, id) ON DELETE CASCADE
);
